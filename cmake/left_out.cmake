# What a build leaves out takes its files and their tests with it. Whoever would call it links a file with the same
# symbols that says so.
function(leave_out regex)
  foreach(list PACELINE_SOURCES PACELINE_TEST_SOURCES PACELINE_FUZZ_SOURCES)
    list(FILTER ${list} EXCLUDE REGEX ${regex})
    set(${list} ${${list}} PARENT_SCOPE)
  endforeach()
endfunction()

if(PACELINE_FFMPEG)
  leave_out("/media/video_stub\\.cc$")
else()
  # Tests of pictures have clips among them that are none.
  leave_out("/media/(video|video_fuzz|video_test|decode_test|clip_file|frame_pixels)\\.cc$|/proof/clip_prompt_test\\.cc$")
endif()

if(PACELINE_SERVER)
  leave_out("/cli/(serve|server_question)_stub\\.cc$|/bench/serve_bench_stub\\.cc$")
else()
  leave_out("/src/server/|/cli/(serve|serve_file|serve_models|serve_options|serve_test|live_options|live_options_test|server_question|browser)\\.cc$")
  leave_out("/bench/(child_server|load_.*|clients_plot|serve_bench|serve_plot|serve_report)\\.cc$")
endif()

if(LIBEDIT_FOUND)
  leave_out("/cli/edited_lines_stub\\.cc$")
else()
  leave_out("/cli/edited_lines\\.cc$")
endif()
