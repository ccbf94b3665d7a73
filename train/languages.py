"""Messages in other languages than English, which the model answers with one polite sentence, and English ones with foreign words in them, which it answers as ever."""

from __future__ import annotations

import random

from train import words
from train.held import Answer, Held

REFUSALS = ["I am sorry, I only know English. Please write to me in English.", "Sorry, I understand only English. Could you ask me in English, please?", "I am sorry, but I only speak English. Please ask me again in English."]

# By language: greetings, then questions and requests; {n} is a name, {c} a city, {d} a number.
SPOKEN: dict[str, tuple[list[str], list[str]]] = {
    "German": (["Hallo!", "Guten Tag.", "Guten Morgen!", "Hallo, wie geht es dir?", "Servus!"],
               ["Was ist die Hauptstadt von Frankreich?", "Kannst du mir helfen?", "Erzähl mir eine Geschichte.", "Wie heißt du?", "Ich heiße {n} und wohne in {c}.", "Wie ist das Wetter in {c}?", "Was ist {d} plus {d}?", "Schreibe bitte ein Gedicht über den Herbst.",
                "Ich möchte gerne wissen, wie das funktioniert.", "Warum ist der Himmel blau?", "Wie spät ist es?", "Sprichst du Deutsch?", "Erkläre mir bitte diesen Satz.", "Mein Hund ist krank, was soll ich tun?", "Wo finde ich ein gutes Restaurant in {c}?", "Übersetze das bitte ins Englische."]),
    "French": (["Bonjour !", "Salut !", "Bonsoir.", "Bonjour, comment ça va ?"],
               ["Quelle est la capitale de l'Espagne ?", "Peux-tu m'aider ?", "Raconte-moi une histoire.", "Comment tu t'appelles ?", "Je m'appelle {n} et j'habite à {c}.", "Quel temps fait-il à {c} ?", "Combien font {d} plus {d} ?", "Écris un poème sur la mer, s'il te plaît.",
                "Je voudrais savoir comment ça marche.", "Pourquoi le ciel est-il bleu ?", "Quelle heure est-il ?", "Parlez-vous français ?", "Où est la gare ?", "Mon chat est malade, que dois-je faire ?", "Donne-moi une recette avec des pommes.", "Qu'est-ce que c'est ?"]),
    "Spanish": (["¡Hola!", "Buenos días.", "Buenas tardes.", "Hola, ¿qué tal?", "Hola"],
                ["¿Cuál es la capital de Francia?", "¿Puedes ayudarme?", "Cuéntame un cuento.", "¿Cómo te llamas?", "Me llamo {n} y vivo en {c}.", "¿Qué tiempo hace en {c}?", "¿Cuánto es {d} más {d}?", "Escribe un poema sobre el mar, por favor.", "Quiero saber cómo funciona esto.",
                 "¿Por qué el cielo es azul?", "¿Qué hora es?", "¿Hablas español?", "Dónde está la estación de tren", "Mi perro está enfermo, ¿qué hago?", "Dame una receta con manzanas.", "Necesito ayuda con mi tarea."]),
    "Italian": (["Ciao!", "Buongiorno.", "Buonasera!", "Ciao, come stai?"],
                ["Qual è la capitale della Francia?", "Puoi aiutarmi?", "Raccontami una storia.", "Come ti chiami?", "Mi chiamo {n} e abito a {c}.", "Che tempo fa a {c}?", "Quanto fa {d} più {d}?", "Scrivi una poesia sul mare, per favore.", "Vorrei sapere come funziona.",
                 "Perché il cielo è blu?", "Che ore sono?", "Parli italiano?", "Dov'è la stazione?", "Il mio gatto è malato, cosa devo fare?", "Dammi una ricetta con le mele."]),
    "Portuguese": (["Olá!", "Bom dia.", "Boa tarde!", "Oi, tudo bem?"],
                   ["Qual é a capital da França?", "Você pode me ajudar?", "Conte-me uma história.", "Como você se chama?", "Eu me chamo {n} e moro em {c}.", "Como está o tempo em {c}?", "Quanto é {d} mais {d}?", "Escreva um poema sobre o mar, por favor.", "Quero saber como isso funciona.",
                    "Por que o céu é azul?", "Que horas são?", "Você fala português?", "Onde fica a estação?", "Meu cachorro está doente, o que eu faço?", "Preciso de ajuda com a lição de casa."]),
    "Dutch": (["Hallo!", "Goedemorgen.", "Hoi!", "Goedendag, hoe gaat het?"],
              ["Wat is de hoofdstad van Frankrijk?", "Kun je mij helpen?", "Vertel me een verhaal.", "Hoe heet je?", "Ik heet {n} en ik woon in {c}.", "Hoe is het weer in {c}?", "Hoeveel is {d} plus {d}?", "Schrijf alsjeblieft een gedicht over de zee.", "Ik wil graag weten hoe dit werkt.",
               "Waarom is de lucht blauw?", "Hoe laat is het?", "Spreek je Nederlands?", "Waar is het station?", "Mijn hond is ziek, wat moet ik doen?"]),
    "Swedish": (["Hej!", "God morgon.", "Hejsan!", "Hej, hur mår du?"],
                ["Vad heter Frankrikes huvudstad?", "Kan du hjälpa mig?", "Berätta en saga för mig.", "Vad heter du?", "Jag heter {n} och bor i {c}.", "Hur är vädret i {c}?", "Vad är {d} plus {d}?", "Skriv en dikt om havet, tack.", "Jag vill veta hur det fungerar.", "Varför är himlen blå?",
                 "Vad är klockan?", "Talar du svenska?", "Var ligger stationen?", "Min hund är sjuk, vad ska jag göra?"]),
    "Norwegian": (["Hei!", "God morgen.", "Hei, hvordan har du det?", "Hallo!"],
                  ["Hva er hovedstaden i Frankrike?", "Kan du hjelpe meg?", "Fortell meg en historie.", "Hva heter du?", "Jeg heter {n} og bor i {c}.", "Hvordan er været i {c}?", "Hva er {d} pluss {d}?", "Skriv et dikt om havet.", "Hvorfor er himmelen blå?", "Hva er klokka?", "Snakker du norsk?", "Hvor er stasjonen?"]),
    "Danish": (["Hej!", "Godmorgen.", "Hej, hvordan går det?", "Goddag."],
               ["Hvad er hovedstaden i Frankrig?", "Kan du hjælpe mig?", "Fortæl mig en historie.", "Hvad hedder du?", "Jeg hedder {n} og bor i {c}.", "Hvordan er vejret i {c}?", "Hvad er {d} plus {d}?", "Skriv et digt om havet.", "Hvorfor er himlen blå?", "Hvad er klokken?", "Taler du dansk?", "Hvor ligger stationen?"]),
    "Finnish": (["Hei!", "Hyvää huomenta.", "Moi!", "Terve, mitä kuuluu?"],
                ["Mikä on Ranskan pääkaupunki?", "Voitko auttaa minua?", "Kerro minulle tarina.", "Mikä sinun nimesi on?", "Minun nimeni on {n} ja asun kaupungissa {c}.", "Millainen sää on tänään?", "Paljonko on {d} plus {d}?", "Kirjoita runo merestä, kiitos.", "Miksi taivas on sininen?", "Paljonko kello on?", "Puhutko suomea?"]),
    "Polish": (["Cześć!", "Dzień dobry.", "Dobry wieczór!", "Hej, jak się masz?"],
               ["Jaka jest stolica Francji?", "Czy możesz mi pomóc?", "Opowiedz mi bajkę.", "Jak masz na imię?", "Nazywam się {n} i mieszkam w {c}.", "Jaka jest pogoda w {c}?", "Ile to jest {d} plus {d}?", "Napisz wiersz o morzu, proszę.", "Dlaczego niebo jest niebieskie?", "Która jest godzina?", "Czy mówisz po polsku?", "Gdzie jest dworzec?", "Mój pies jest chory, co mam zrobić?"]),
    "Czech": (["Ahoj!", "Dobrý den.", "Dobré ráno!", "Ahoj, jak se máš?"],
              ["Jaké je hlavní město Francie?", "Můžeš mi pomoct?", "Vyprávěj mi pohádku.", "Jak se jmenuješ?", "Jmenuji se {n} a bydlím v {c}.", "Jaké je dnes počasí?", "Kolik je {d} plus {d}?", "Napiš báseň o moři, prosím.", "Proč je nebe modré?", "Kolik je hodin?", "Mluvíš česky?", "Kde je nádraží?"]),
    "Hungarian": (["Szia!", "Jó napot!", "Jó reggelt.", "Szia, hogy vagy?"],
                  ["Mi Franciaország fővárosa?", "Tudsz segíteni?", "Mesélj nekem egy történetet.", "Hogy hívnak?", "A nevem {n}, és itt lakom: {c}.", "Milyen idő van ma?", "Mennyi {d} meg {d}?", "Írj egy verset a tengerről, kérlek.", "Miért kék az ég?", "Hány óra van?", "Beszélsz magyarul?", "Hol van az állomás?"]),
    "Romanian": (["Bună!", "Bună ziua.", "Salut!", "Bună dimineața!"],
                 ["Care este capitala Franței?", "Poți să mă ajuți?", "Spune-mi o poveste.", "Cum te cheamă?", "Mă numesc {n} și locuiesc în {c}.", "Cum este vremea în {c}?", "Cât face {d} plus {d}?", "Scrie o poezie despre mare, te rog.", "De ce este cerul albastru?", "Cât este ceasul?", "Vorbești românește?", "Unde este gara?"]),
    "Turkish": (["Merhaba!", "Günaydın.", "Selam!", "İyi akşamlar."],
                ["Fransa'nın başkenti neresi?", "Bana yardım edebilir misin?", "Bana bir hikaye anlat.", "Senin adın ne?", "Benim adım {n} ve {c} şehrinde yaşıyorum.", "Bugün hava nasıl?", "{d} artı {d} kaç eder?", "Lütfen deniz hakkında bir şiir yaz.", "Gökyüzü neden mavi?", "Saat kaç?", "Türkçe biliyor musun?", "İstasyon nerede?"]),
    "Indonesian": (["Halo!", "Selamat pagi.", "Apa kabar?", "Selamat malam!"],
                   ["Apa ibu kota Prancis?", "Bisakah kamu membantu saya?", "Ceritakan sebuah cerita.", "Siapa namamu?", "Nama saya {n} dan saya tinggal di {c}.", "Bagaimana cuaca di {c}?", "Berapa {d} tambah {d}?", "Tolong tulis puisi tentang laut.", "Mengapa langit berwarna biru?", "Jam berapa sekarang?", "Apakah kamu bisa bahasa Indonesia?", "Di mana stasiun kereta?"]),
    "Vietnamese": (["Xin chào!", "Chào bạn.", "Chào buổi sáng!"],
                   ["Thủ đô của Pháp là gì?", "Bạn có thể giúp tôi không?", "Kể cho tôi một câu chuyện.", "Bạn tên là gì?", "Tôi tên là {n} và sống ở {c}.", "Thời tiết ở {c} thế nào?", "{d} cộng {d} bằng bao nhiêu?", "Hãy viết một bài thơ về biển.", "Tại sao bầu trời màu xanh?", "Bây giờ là mấy giờ?", "Bạn có nói tiếng Việt không?", "Nhà ga ở đâu?"]),
    "Swahili": (["Habari!", "Jambo!", "Habari za asubuhi?"],
                ["Mji mkuu wa Ufaransa ni upi?", "Unaweza kunisaidia?", "Niambie hadithi.", "Jina lako ni nani?", "Jina langu ni {n} na ninaishi {c}.", "Hali ya hewa ikoje leo?", "Ngapi ni {d} kujumlisha {d}?", "Tafadhali andika shairi kuhusu bahari.", "Kwa nini anga ni bluu?", "Ni saa ngapi sasa?", "Unazungumza Kiswahili?", "Kituo kiko wapi?"]),
    "Tagalog": (["Kumusta!", "Magandang umaga.", "Kumusta ka?"],
                ["Ano ang kabisera ng Pransya?", "Matutulungan mo ba ako?", "Kuwentuhan mo ako.", "Ano ang pangalan mo?", "Ako si {n} at nakatira ako sa {c}.", "Kumusta ang panahon sa {c}?", "Magkano ang {d} dagdag {d}?", "Sumulat ka ng tula tungkol sa dagat.", "Bakit asul ang langit?", "Anong oras na?", "Marunong ka bang mag-Tagalog?"]),
    "Catalan": (["Hola, bon dia!", "Bona tarda.", "Bon dia!"],
                ["Quina és la capital de França?", "Em pots ajudar?", "Explica'm un conte.", "Com et dius?", "Em dic {n} i visc a {c}.", "Quin temps fa a {c}?", "Quant fan {d} més {d}?", "Escriu un poema sobre el mar, si us plau.", "Per què el cel és blau?", "Quina hora és?", "Parles català?"]),
    "Croatian": (["Bok!", "Dobar dan.", "Dobro jutro!", "Bok, kako si?"],
                 ["Koji je glavni grad Francuske?", "Možeš li mi pomoći?", "Ispričaj mi priču.", "Kako se zoveš?", "Zovem se {n} i živim u {c}.", "Kakvo je vrijeme danas?", "Koliko je {d} plus {d}?", "Napiši pjesmu o moru, molim te.", "Zašto je nebo plavo?", "Koliko je sati?", "Govoriš li hrvatski?", "Gdje je kolodvor?"]),
    "Latin": (["Salve!", "Ave, amice.", "Salvete omnes."],
              ["Quid est nomen tibi?", "Narra mihi fabulam.", "Potesne me adiuvare?", "Cur caelum caeruleum est?", "Quot sunt {d} et {d}?", "Ubi habitas?", "Nomen mihi est {n}.", "Scribe carmen de mari, quaeso.", "Loquerisne Latine?", "Quota hora est?"]),
    "Irish": (["Dia duit!", "Maidin mhaith.", "Conas atá tú?"],
              ["Cad is ainm duit?", "Inis scéal dom.", "An féidir leat cabhrú liom?", "Cén fáth a bhfuil an spéir gorm?", "Is mise {n} agus tá mé i mo chónaí i {c}.", "Cad é príomhchathair na Fraince?", "Cén t-am é?", "An labhraíonn tú Gaeilge?", "Scríobh dán faoin bhfarraige, le do thoil."]),
    "Estonian": (["Tere!", "Tere hommikust.", "Tere, kuidas läheb?"],
                 ["Mis on Prantsusmaa pealinn?", "Kas sa saad mind aidata?", "Räägi mulle üks lugu.", "Mis su nimi on?", "Minu nimi on {n} ja ma elan linnas {c}.", "Milline ilm täna on?", "Palju on {d} pluss {d}?", "Palun kirjuta luuletus merest.", "Miks on taevas sinine?", "Mis kell on?", "Kas sa räägid eesti keelt?"]),
    "Russian": (["Привет!", "Здравствуйте.", "Доброе утро!", "Привет, как дела?"],
                ["Какая столица Франции?", "Ты можешь мне помочь?", "Расскажи мне сказку.", "Как тебя зовут?", "Меня зовут Анна, я живу в Москве.", "Какая сегодня погода?", "Сколько будет {d} плюс {d}?", "Напиши стихотворение о море, пожалуйста.", "Почему небо голубое?", "Который час?", "Ты говоришь по-русски?", "Где находится вокзал?", "Моя собака заболела, что делать?"]),
    "Ukrainian": (["Привіт!", "Добрий день.", "Доброго ранку!"],
                  ["Яка столиця Франції?", "Ти можеш мені допомогти?", "Розкажи мені казку.", "Як тебе звати?", "Мене звати Олена, я живу в Києві.", "Яка сьогодні погода?", "Скільки буде {d} плюс {d}?", "Напиши вірш про море, будь ласка.", "Чому небо блакитне?", "Котра година?", "Ти розмовляєш українською?", "Де знаходиться вокзал?"]),
    "Bulgarian": (["Здравей!", "Добър ден.", "Добро утро!"],
                  ["Коя е столицата на Франция?", "Можеш ли да ми помогнеш?", "Разкажи ми приказка.", "Как се казваш?", "Казвам се Иван и живея в София.", "Какво е времето днес?", "Колко е {d} плюс {d}?", "Напиши стихотворение за морето.", "Защо небето е синьо?", "Колко е часът?", "Говориш ли български?", "Къде е гарата?"]),
    "Serbian": (["Здраво!", "Добар дан.", "Добро јутро!"],
                ["Који је главни град Француске?", "Можеш ли да ми помогнеш?", "Испричај ми причу.", "Како се зовеш?", "Зовем се Марко и живим у Београду.", "Какво је време данас?", "Колико је {d} плус {d}?", "Напиши песму о мору, молим те.", "Зашто је небо плаво?", "Колико је сати?"]),
    "Greek": (["Γεια σου!", "Καλημέρα.", "Καλησπέρα!", "Γεια, τι κάνεις;"],
              ["Ποια είναι η πρωτεύουσα της Γαλλίας;", "Μπορείς να με βοηθήσεις;", "Πες μου μια ιστορία.", "Πώς σε λένε;", "Με λένε Μαρία και μένω στην Αθήνα.", "Τι καιρό κάνει σήμερα;", "Πόσο κάνει {d} και {d};", "Γράψε ένα ποίημα για τη θάλασσα, παρακαλώ.", "Γιατί ο ουρανός είναι μπλε;", "Τι ώρα είναι;", "Μιλάς ελληνικά;", "Πού είναι ο σταθμός;"]),
    "Arabic": (["مرحبا!", "السلام عليكم.", "صباح الخير!", "مرحبا، كيف حالك؟"],
               ["ما هي عاصمة فرنسا؟", "هل يمكنك مساعدتي؟", "احك لي قصة.", "ما اسمك؟", "اسمي أحمد وأعيش في القاهرة.", "كيف الطقس اليوم؟", "كم يساوي {d} زائد {d}؟", "اكتب قصيدة عن البحر من فضلك.", "لماذا السماء زرقاء؟", "كم الساعة الآن؟", "هل تتكلم العربية؟", "أين المحطة؟"]),
    "Persian": (["سلام!", "صبح بخیر.", "سلام، حال شما چطور است؟"],
                ["پایتخت فرانسه کجاست؟", "می‌توانید به من کمک کنید؟", "برای من یک داستان بگو.", "اسم شما چیست؟", "اسم من سارا است و در تهران زندگی می‌کنم.", "هوا امروز چطور است؟", "{d} به علاوه {d} چند می‌شود؟", "لطفا شعری درباره دریا بنویس.", "چرا آسمان آبی است؟", "ساعت چند است؟"]),
    "Urdu": (["السلام علیکم!", "آپ کیسے ہیں؟", "صبح بخیر۔"],
             ["فرانس کا دارالحکومت کیا ہے؟", "کیا آپ میری مدد کر سکتے ہیں؟", "مجھے ایک کہانی سنائیں۔", "آپ کا نام کیا ہے؟", "میرا نام علی ہے اور میں لاہور میں رہتا ہوں۔", "آج موسم کیسا ہے؟", "{d} جمع {d} کتنا ہوتا ہے؟", "آسمان نیلا کیوں ہے؟", "کیا وقت ہوا ہے؟"]),
    "Hebrew": (["שלום!", "בוקר טוב.", "ערב טוב!", "שלום, מה שלומך?"],
               ["מהי בירת צרפת?", "אתה יכול לעזור לי?", "ספר לי סיפור.", "איך קוראים לך?", "קוראים לי דנה ואני גרה בתל אביב.", "מה מזג האוויר היום?", "כמה זה {d} ועוד {d}?", "כתוב שיר על הים בבקשה.", "למה השמיים כחולים?", "מה השעה?", "אתה מדבר עברית?", "איפה התחנה?"]),
    "Hindi": (["नमस्ते!", "सुप्रभात।", "नमस्ते, आप कैसे हैं?"],
              ["फ्रांस की राजधानी क्या है?", "क्या आप मेरी मदद कर सकते हैं?", "मुझे एक कहानी सुनाओ।", "आपका नाम क्या है?", "मेरा नाम राहुल है और मैं दिल्ली में रहता हूँ।", "आज मौसम कैसा है?", "{d} और {d} कितना होता है?", "समुद्र पर एक कविता लिखो।", "आसमान नीला क्यों है?", "कितने बजे हैं?", "क्या आप हिंदी बोलते हैं?", "स्टेशन कहाँ है?"]),
    "Bengali": (["নমস্কার!", "শুভ সকাল।", "কেমন আছেন?"],
                ["ফ্রান্সের রাজধানী কী?", "আপনি কি আমাকে সাহায্য করতে পারেন?", "আমাকে একটা গল্প বলো।", "তোমার নাম কী?", "আজকের আবহাওয়া কেমন?", "{d} আর {d} কত হয়?", "আকাশ নীল কেন?", "এখন কয়টা বাজে?", "সমুদ্র নিয়ে একটা কবিতা লেখো।"]),
    "Tamil": (["வணக்கம்!", "காலை வணக்கம்.", "எப்படி இருக்கிறீர்கள்?"],
              ["பிரான்சின் தலைநகரம் எது?", "எனக்கு உதவ முடியுமா?", "எனக்கு ஒரு கதை சொல்லுங்கள்.", "உங்கள் பெயர் என்ன?", "இன்று வானிலை எப்படி இருக்கிறது?", "வானம் ஏன் நீலமாக இருக்கிறது?", "இப்போது மணி என்ன?"]),
    "Thai": (["สวัสดี!", "สวัสดีครับ", "สวัสดีค่ะ สบายดีไหม"],
             ["เมืองหลวงของฝรั่งเศสคืออะไร", "คุณช่วยฉันได้ไหม", "เล่านิทานให้ฉันฟังหน่อย", "คุณชื่ออะไร", "วันนี้อากาศเป็นอย่างไร", "{d} บวก {d} เท่ากับเท่าไร", "ช่วยเขียนบทกวีเกี่ยวกับทะเล", "ทำไมท้องฟ้าถึงเป็นสีฟ้า", "ตอนนี้กี่โมง", "สถานีรถไฟอยู่ที่ไหน"]),
    "Chinese": (["你好!", "早上好。", "您好，最近怎么样？", "大家好"],
                ["法国的首都是哪里？", "你能帮我吗？", "给我讲一个故事。", "你叫什么名字？", "我叫小明，住在北京。", "今天天气怎么样？", "{d}加{d}等于多少？", "请写一首关于大海的诗。", "天空为什么是蓝色的？", "现在几点了？", "你会说中文吗？", "火车站在哪里？", "我的狗生病了，怎么办？"]),
    "Japanese": (["こんにちは!", "おはようございます。", "こんばんは。", "お元気ですか？"],
                 ["フランスの首都はどこですか？", "手伝ってくれますか？", "お話を聞かせてください。", "お名前は何ですか？", "私の名前は花子です。東京に住んでいます。", "今日の天気はどうですか？", "{d}足す{d}はいくつですか？", "海についての詩を書いてください。", "空はなぜ青いのですか？", "今何時ですか？", "日本語を話せますか？", "駅はどこですか？"]),
    "Korean": (["안녕하세요!", "좋은 아침이에요.", "안녕, 잘 지내?"],
               ["프랑스의 수도는 어디예요?", "도와줄 수 있어요?", "이야기 하나 해 주세요.", "이름이 뭐예요?", "제 이름은 민수이고 서울에 살아요.", "오늘 날씨 어때요?", "{d} 더하기 {d}는 얼마예요?", "바다에 대한 시를 써 주세요.", "하늘은 왜 파란색이에요?", "지금 몇 시예요?", "한국어 할 줄 알아요?", "역이 어디에 있어요?"]),
    "Georgian": (["გამარჯობა!", "დილა მშვიდობისა."], ["რა გქვია?", "შეგიძლია დამეხმარო?", "მომიყევი ზღაპარი.", "რა არის საფრანგეთის დედაქალაქი?", "როგორი ამინდია დღეს?", "რატომ არის ცა ლურჯი?", "რომელი საათია?"]),
    "Armenian": (["Բարև!", "Բարի լույս։"], ["Ի՞նչ է քո անունը։", "Կարո՞ղ ես ինձ օգնել։", "Ինձ մի հեքիաթ պատմիր։", "Ո՞րն է Ֆրանսիայի մայրաքաղաքը։", "Ինչպիսի՞ն է եղանակն այսօր։", "Ժամը քանի՞սն է։"]),
}
# Frequent words, strung together to phrases that nobody would say but that look like the language.
COMMON = {
    "German": """ich du er sie wir ihr das die der den ein eine nicht und oder aber weil mit ohne für auf unter über ist sind war habe hast hat kann kannst muss soll will gerne heute morgen gestern immer nie viel wenig gut schlecht groß klein Haus Auto
Kind Mutter Vater Freund Schule Arbeit Buch Wasser Brot Stadt Straße Bahnhof Zeit Tag Jahr gehen kommen machen sagen sehen essen trinken kaufen lesen schreiben lernen spielen zeigen nennen bitte danke warum wann wo wer was wie welche zwischen Unterschied""",
    "French": """je tu il elle nous vous ils le la les un une des ne pas et ou mais parce que avec sans pour sur sous est sont était ai as avons peux dois veux aujourd'hui demain hier toujours jamais beaucoup peu bon mauvais grand petit maison voiture
enfant mère père ami école travail livre eau pain ville rue toilettes temps jour année aller venir faire dire voir manger boire acheter lire écrire apprendre jouer montrer merci pourquoi quand où qui quoi comment quelle entre différence cette mes ton""",
    "Spanish": """yo tú él ella nosotros ustedes el la los las un una no y o pero porque con sin para sobre bajo es son era tengo tienes puedo debo quiero hoy mañana ayer siempre nunca mucho poco bueno malo grande pequeño casa coche niño madre padre amigo
escuela trabajo libro agua pan ciudad calle tiempo día año ir venir hacer decir ver comer beber comprar leer escribir aprender jugar mostrar gracias por qué cuándo dónde quién qué cómo cuál entre diferencia esta mis tu explica hablar""",
    "Italian": """io tu lui lei noi voi il la gli le un una non e o ma perché con senza per su sotto è sono era ho hai posso devo voglio oggi domani ieri sempre mai molto poco buono cattivo grande piccolo casa macchina bambino madre padre amico scuola lavoro
libro acqua pane città strada tempo giorno anno andare venire fare dire vedere mangiare bere comprare leggere scrivere imparare giocare grazie quando dove chi cosa come quale tra differenza questa miei tuo spiega""",
    "Portuguese": """eu você ele ela nós o a os as um uma não e ou mas porque com sem para sobre é são era tenho posso devo quero hoje amanhã ontem sempre nunca muito pouco bom mau grande pequeno casa carro criança mãe pai amigo escola trabalho livro água pão
cidade rua tempo dia ano ir vir fazer dizer ver comer beber comprar ler escrever aprender jogar obrigado quando onde quem que como qual entre diferença esta meus seu explique""",
    "Dutch": """ik jij hij zij wij jullie het de een niet en of maar omdat met zonder voor op onder is zijn was heb hebt kan moet wil graag vandaag morgen gisteren altijd nooit veel weinig goed slecht groot klein huis auto kind moeder vader vriend school werk
boek water brood stad straat tijd dag jaar gaan komen maken zeggen zien eten drinken kopen lezen schrijven leren spelen bedankt waarom wanneer waar wie wat hoe welke tussen verschil deze mijn jouw""",
    "Swedish": """jag du han hon vi ni den det en ett inte och eller men eftersom med utan för på under är var har kan måste vill gärna idag imorgon igår alltid aldrig mycket lite bra dålig stor liten hus bil barn mamma pappa vän skola arbete bok vatten bröd
stad gata tid dag år gå komma göra säga se äta dricka köpa läsa skriva lära spela tack varför när var vem vad hur vilken mellan skillnad denna min din""",
    "Polish": """ja ty on ona my wy to ten ta nie i lub ale ponieważ z bez dla na pod jest są był mam masz mogę muszę chcę dzisiaj jutro wczoraj zawsze nigdy dużo mało dobry zły duży mały dom samochód dziecko matka ojciec przyjaciel szkoła praca książka woda
chleb miasto ulica czas dzień rok iść robić mówić widzieć jeść pić kupić czytać pisać uczyć grać dziękuję dlaczego kiedy gdzie kto co jak która między różnica mój twój""",
    "Turkish": """ben sen o biz siz bu şu bir değil ve veya ama çünkü ile için üzerinde var yok istiyorum yapabilirim bugün yarın dün her zaman asla çok az iyi kötü büyük küçük ev araba çocuk anne baba arkadaş okul iş kitap su ekmek şehir sokak gün yıl gitmek
gelmek yapmak söylemek görmek yemek içmek almak okumak yazmak teşekkürler neden ne zaman nerede kim nasıl hangi arasında fark benim senin""",
    "Russian": """я ты он она мы вы это тот не и или но потому что с без для на под есть был могу должен хочу сегодня завтра вчера всегда никогда много мало хороший плохой большой маленький дом машина ребёнок мать отец друг школа работа книга вода хлеб город
улица время день год идти делать говорить видеть есть пить купить читать писать учить играть спасибо почему когда где кто что как какой между разница мой твой""",
}
COMMON_WORDS = {language: text.split() for language, text in COMMON.items()}
FOREIGN_THINGS = "croissant sushi taco kimono sauna piano tortilla paella burrito strudel kebab ramen origami siesta fjord tsunami baguette pretzel espresso safari karate".split()
FOREIGN_NAMES = "José Søren Zoë Jürgen François Małgorzata Łukasz Björn Renée Núria Ángel Çelik Dvořák Ömer Åsa Chloé Iñigo Siân Żaneta Günther".split()
FOREIGN_PLACES = "Zürich München São Paulo,Malmö,Kraków,Besançon,Córdoba,Göteborg,Tromsø,Łódź,Kyōto,Bogotá,Reykjavík,Brașov,İzmir,Poznań,Århus".replace("München São", "München,São").split(",")

# Languages that people try first come more often.
ASKED_IN = list(SPOKEN) + 2 * list(COMMON_WORDS)


def sentence(language: str, rng: random.Random) -> str:
    greetings, asked = SPOKEN[language]
    kind = rng.random()
    if kind < 0.12:
        return rng.choice(greetings)
    text = rng.choice(asked)
    if kind < 0.3:
        text = f"{rng.choice(greetings)} {text}"
    elif kind < 0.42:
        text = f"{text} {rng.choice(asked)}"
    elif kind < 0.65 and " " in text:
        text = jumbled(language, rng)
    text = text.format(n=rng.choice(words.FIRST_NAMES), c=rng.choice(words.CITIES), d=rng.randint(2, 99)) if "{" in text else text
    if rng.random() < 0.2:
        text = text.rstrip("?.!。？؟;।")
    return text.lower() if rng.random() < 0.15 else text


def jumbled(language: str, rng: random.Random) -> str:
    """Halves of two sentences, or frequent words, so that it is the words that count and not a sentence known by heart."""
    if language in COMMON_WORDS and rng.random() < 0.7:
        chosen = [rng.choice(COMMON_WORDS[language]) for _ in range(rng.randint(3, 9))]
        return " ".join(chosen).capitalize() + rng.choice(["?", "?", ".", ""])
    first, second = rng.choice(SPOKEN[language][1]).split(), rng.choice(SPOKEN[language][1]).split()
    return " ".join(first[:max(1, len(first) // 2 + rng.randint(0, 1))] + second[len(second) // 2:])


def refusal(rng: random.Random) -> str:
    return REFUSALS[0] if rng.random() < 0.85 else rng.choice(REFUSALS[1:])


def exchange(rng: random.Random) -> tuple[str, str, str]:
    """A message in another language, the refusal, and the key that decides the split."""
    text = sentence(rng.choice(ASKED_IN), rng)
    return text, refusal(rng), "language " + text.lower()


def english(rng: random.Random) -> tuple[str, str, str]:
    """English with foreign names or words in it, which is not refused."""
    name, place = rng.choice(FOREIGN_NAMES), rng.choice(FOREIGN_PLACES)
    thing = rng.choice(FOREIGN_THINGS)
    foreign = sentence(rng.choice(list(SPOKEN)), rng)
    question, answer = rng.choice([
        (f"Hi, my name is {name}.", f"Nice to meet you, {name}! How can I help you?"), (f"I am {name} from {place}.", f"Nice to meet you, {name}! How can I help you?"),
        (f"{name} lives in {place}. Where does {name} live?", f"{name} lives in {place}."), (f"{name} bought {words.article(thing)} in {place}. What did {name} buy?", f"{name} bought {words.article(thing)}."),
        (f"Repeat this: {foreign}", foreign), (f"Copy this text: {foreign}", foreign), (f"Repeat this: {name} went to {place}.", f"{name} went to {place}."),
        (f"Write these as a list: {name}, {place}, {thing}", f"- {name}\n- {place}\n- {thing}"), (f"{name} and I like {place}. Who likes {place}?", f"You and {name} like {place}."),
        (f"Translate this into English: {foreign}", "I am sorry, I only know English, so I can't translate."), (f"What does '{foreign}' mean?", "I am sorry, I only know English, so I can't translate."),
        (f"How do you say {rng.choice(words.THINGS)} in {rng.choice(list(SPOKEN))}?", "I am sorry, I only know English, so I can't translate."), (f"Do you speak {rng.choice(list(SPOKEN))}?", "No, I only know English."),
        (f"Can you speak {rng.choice(list(SPOKEN))}?", "No, I only know English."), ("Which languages do you speak?", "I only know English."), ("What languages do you know?", "I only know English.")])
    return question, answer, "english " + question


def held_refusal(rng: random.Random) -> Held:
    text, _, key = exchange(rng)

    def right(answer: Answer) -> bool:
        said = answer.text.lower()
        return not answer.calls and answer.text.isascii() and "english" in said and "only" in said and len(answer.text) < 160

    return Held(key, [{"role": "user", "content": text}], right)
