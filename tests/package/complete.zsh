# What zsh offers for a line, with the completions of a folder: zsh -f complete.zsh FOLDER LINE
# zsh completes only where somebody types, so it is run within a terminal of its own and asked to list.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; fpath=($1 \$fpath); autoload -U compinit; compinit -D -u; zstyle ':completion:*' verbose no; bindkey '^I' complete-word; print rea''dy"
zpty -r -m shell line '*ready*'
zpty -w -n shell "$2"$'\t'
local all=
# Half a minute is for machines that are busy; it is over as soon as something is offered.
repeat 300; do
  zpty -r -t shell line && all+=$line
  [[ $all == *$2[[:graph:]]* ]] && break
  sleep 0.1
done
print -r -- "$all"
zpty -d shell
