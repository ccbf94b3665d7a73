"""Plain explanations of everyday things: what something is, why and how something happens."""

from __future__ import annotations

import random

# What is asked for | the answer.
THINGS = dict(line.split("|") for line in """the sea|The sea is the great body of salt water that covers most of the earth.
the ocean|The ocean is the salt water that covers about seven tenths of the earth.
a lake|A lake is a large area of water with land all around it.
a pond|A pond is a small area of still water, smaller than a lake.
a mountain|A mountain is a very high part of the land, with a top called the peak.
a hill|A hill is a raised part of the land, lower than a mountain.
a valley|A valley is the low land between hills or mountains, often with a river.
a forest|A forest is a large area with many trees, where many animals live.
a jungle|A jungle is a thick forest in a hot and wet part of the world.
a beach|A beach is the sandy or stony land at the edge of the sea or of a lake.
a cave|A cave is a hollow place in rock or under the ground.
a waterfall|A waterfall is water of a river that falls down over a steep edge.
a glacier|A glacier is a thick mass of ice that moves slowly down a mountain.
a swamp|A swamp is land that is soft and wet, with plants and shallow water.
sand|Sand is made of very small grains of rock and shells.
soil|Soil is the top layer of the ground, in which plants grow.
a rock|A rock is a hard piece of the earth, made of minerals.
the earth|The earth is the planet we live on. It goes around the sun once a year.
the sky|The sky is the air and the space that we see above us.
a star|A star is a huge ball of hot gas that gives off light. Our sun is one.
a comet|A comet is a ball of ice and dust that goes around the sun and can show a bright tail.
a rainbow|A rainbow is a bow of colors in the sky, made when sunlight shines through drops of rain.
a cloud|A cloud is made of many tiny drops of water or bits of ice floating in the air.
fog|Fog is a cloud that lies close to the ground.
snow|Snow is frozen water that falls from clouds as white flakes.
hail|Hail is small balls of ice that fall from storm clouds.
dew|Dew is small drops of water that form on grass in cool nights.
frost|Frost is a thin layer of ice that forms on cold things at night.
wind|Wind is air that moves from one place to another.
a storm|A storm is bad weather with strong wind and often rain, thunder or snow.
thunder|Thunder is the loud sound that lightning makes when it heats the air very quickly.
lightning|Lightning is a huge electric spark between clouds or between a cloud and the ground.
an earthquake|An earthquake is a shaking of the ground when rocks deep down suddenly move.
a flood|A flood is much water on land that is usually dry.
air|Air is the mix of gases around us. We breathe it, and it is mostly nitrogen and oxygen.
water|Water is a clear liquid without taste that all living things need.
fire|Fire is the heat and light that come when something burns.
smoke|Smoke is tiny bits of burnt material that rise from a fire.
ash|Ash is the gray powder that is left when something has burned.
light|Light is what lets us see. It comes from the sun, from lamps and from fire.
a shadow|A shadow is the dark shape behind something that stands in the light.
sound|Sound is a fast shaking of the air that our ears can hear.
an echo|An echo is a sound that comes back to you from a wall or a mountain.
heat|Heat is energy that makes things warm. It moves from hot things to cold ones.
energy|Energy is what makes things move, heat up or shine.
time|Time is what passes from one moment to the next. We measure it with clocks.
a year|A year is the time the earth needs to go around the sun once, about 365 days.
a day|A day is the time in which the earth turns around once, 24 hours.
a season|A season is a part of the year: spring, summer, autumn or winter.
spring|Spring is the season after winter, when plants start to grow again.
summer|Summer is the warmest season of the year.
autumn|Autumn is the season when leaves turn yellow and red and fall.
winter|Winter is the coldest season of the year.
a plant|A plant is a living thing that grows in one place and makes its food from light.
a flower|A flower is the part of a plant that makes seeds, often colorful and sweet in smell.
a seed|A seed is the small part of a plant from which a new plant can grow.
a leaf|A leaf is a flat green part of a plant that catches light.
a root|A root is the part of a plant under the ground that takes up water.
a fruit|A fruit is the part of a plant that holds the seeds, and many fruits are good to eat.
a vegetable|A vegetable is a part of a plant that people eat, such as a carrot or a cabbage.
grass|Grass is a green plant with thin leaves that covers meadows and lawns.
a mushroom|A mushroom is the part of a fungus that we see above the ground. Some can be eaten, others are poisonous.
an animal|An animal is a living thing that moves, eats and feels.
a mammal|A mammal is a warm animal that feeds its young with milk, such as a dog, a whale or a person.
a bird|A bird is an animal with feathers, two wings and a beak that lays eggs.
a fish|A fish is an animal that lives in water, breathes with gills and swims with fins.
an insect|An insect is a small animal with six legs, such as an ant or a bee.
a reptile|A reptile is an animal with dry scales, such as a snake, a lizard or a turtle.
a cat|A cat is a small furry animal with sharp claws that many people keep as a pet.
a dog|A dog is an animal that many people keep as a pet. It is loyal and has a good nose.
a horse|A horse is a large animal with hooves and a mane that people can ride.
a cow|A cow is a large farm animal that gives milk.
a sheep|A sheep is a farm animal with thick wool.
a whale|A whale is a very large mammal that lives in the sea and comes up to breathe.
a shark|A shark is a large fish with many sharp teeth.
a dolphin|A dolphin is a clever mammal that lives in the sea.
an octopus|An octopus is a sea animal with eight arms and a soft body.
a penguin|A penguin is a black and white bird that cannot fly but swims very well.
an owl|An owl is a bird that hunts at night and has large eyes.
a bat|A bat is a small mammal that can fly and hunts at night.
a frog|A frog is a small animal that lives near water and jumps with its long legs.
a butterfly|A butterfly is an insect with large colorful wings.
a caterpillar|A caterpillar is the young form of a butterfly or a moth. It looks like a small worm with legs.
a spider|A spider is a small animal with eight legs. Many spiders spin webs.
a bee|A bee is an insect that visits flowers and makes honey.
a snail|A snail is a slow, soft animal that carries a shell on its back.
a dinosaur|Dinosaurs were reptiles that lived long ago. Most of them died out about 66 million years ago.
a fossil|A fossil is what is left of a plant or an animal that lived very long ago, kept in stone.
an egg|An egg is what birds and some other animals lay. A young animal grows in it.
a nest|A nest is the home that a bird builds for its eggs and its young.
the heart|The heart is a muscle that pumps blood through the body.
the brain|The brain is the part of the body in the head with which we think and feel.
a muscle|A muscle is a part of the body that pulls, so that we can move.
blood|Blood is the red liquid that carries oxygen and food through the body.
skin|Skin is the outer cover of the body that protects it.
a bone|A bone is a hard part inside the body. All bones together make the skeleton.
a tooth|A tooth is a hard white part of the mouth, used to bite and chew.
a dream|A dream is a story or pictures in your mind while you sleep.
sleep|Sleep is the time when body and mind rest, mostly at night.
a fever|A fever is when the body is hotter than usual, often because it fights an illness.
a cold|A cold is a light illness with a running nose and a cough.
medicine|Medicine is something that you take to get well when you are ill.
a family|A family is a group of people who belong together, such as parents and children.
a friend|A friend is someone you like and trust, and who likes you, too.
love|Love is a strong, warm feeling for someone or something.
happiness|Happiness is the good feeling you have when things are well.
courage|Courage is doing what is right even if you are afraid.
a school|A school is a place where children learn.
a hospital|A hospital is a place where sick or hurt people are treated.
a museum|A museum is a place where interesting and old things are shown.
a farm|A farm is a place where people grow plants and keep animals for food.
a city|A city is a large place where many people live and work.
a village|A village is a small place in the country with a few houses.
a country|A country is an area of land with its own people and government.
a map|A map is a drawing that shows where places are.
a flag|A flag is a piece of cloth with colors or signs that stands for a country or a group.
money|Money is what people use to pay for things.
a bank|A bank is a place that keeps people's money and lends money to others.
a job|A job is the work that someone does to earn money.
a holiday|A holiday is a day or a time when people do not have to work or go to school.
a birthday|A birthday is the day of the year on which someone was born.
a law|A law is a rule that everyone in a country must follow.
a book|A book is many pages with text or pictures, bound together.
a letter|A letter is a written message sent to someone. It is also a sign of the alphabet.
a newspaper|A newspaper is printed on paper and tells what has happened in the world.
music|Music is sound made with voices or instruments so that it is nice to hear.
a song|A song is music with words that people sing.
a guitar|A guitar is an instrument with strings that you play with your fingers.
a piano|A piano is a large instrument with black and white keys.
a painting|A painting is a picture made with paint.
a film|A film is a story told with moving pictures.
a game|A game is something people play for fun, mostly with rules.
football|Football is a game in which two teams try to kick a ball into the other team's goal.
chess|Chess is a board game for two players who each try to trap the other's king.
a car|A car is a machine with four wheels and an engine that people drive on roads.
a bicycle|A bicycle has two wheels and is moved by pushing the pedals.
a train|A train is a row of wagons that runs on rails.
a plane|A plane is a machine with wings and engines that flies through the air.
a boat|A boat is a vehicle that floats on water.
a ship|A ship is a large boat that crosses the sea.
a rocket|A rocket is a machine that flies into space by pushing out hot gas.
an engine|An engine is a machine that uses fuel or power to make things move.
a wheel|A wheel is a round thing that turns, so that carts and cars can roll.
a bridge|A bridge is built so that people can cross a river, a road or a valley.
a house|A house is a building in which people live.
a castle|A castle is a large old building with thick walls that protected people in the past.
a window|A window is an opening in a wall, with glass that lets in light.
a clock|A clock is a device that shows the time.
a telescope|A telescope is a device that makes things far away look larger.
a microscope|A microscope is a device that makes very small things look larger.
a magnet|A magnet is a piece of metal that pulls iron towards it.
a battery|A battery stores energy and gives it off as electric current.
a phone|A phone is a device with which you can talk to people far away.
a camera|A camera is a device that takes pictures.
a keyboard|A keyboard is a board with keys for typing.
a program|A program is a list of instructions for a computer.
a website|A website is a set of pages on the internet.
an email|An email is a letter that is sent from one computer to another.
a password|A password is a secret word that lets only you into something.
a file|A file is a set of data with a name, kept on a computer.
a bug in a program|A bug is a mistake in a program.
a variable|A variable is a name for a value in a program.
a loop|A loop is a part of a program that is done again and again.
a list in Python|A list in Python holds values in order, such as [1, 2, 3].
a dictionary in Python|A dictionary in Python holds values under keys, such as {"a": 1}.
a circle|A circle is a round shape. Each point of it is equally far from the middle.
a rectangle|A rectangle is a shape with four sides and four right angles.
a cube|A cube is a solid shape with six equal square sides.
a number|A number tells how many or how much there is of something.
an even number|An even number can be divided by 2 without a remainder.
an odd number|An odd number cannot be divided by 2 without a remainder.
zero|Zero is the number for nothing at all.
a fraction|A fraction is a part of a whole, such as a half or a quarter.
a word|A word is a group of letters that means something.
a sentence|A sentence is a group of words that says something whole.
a noun|A noun is a word for a person, a place or a thing.
a verb|A verb is a word for something that is done, such as run or sleep.
an adjective|An adjective is a word that tells how something is, such as big or red.
a rhyme|A rhyme is when words end with the same sound, like cat and hat.
a fairy tale|A fairy tale is an old story with magic in it.
a dragon|A dragon is a large animal in stories that can fly and breathe fire. Dragons are not real.
a unicorn|A unicorn is a horse with one horn that exists only in stories.
bread|Bread is a food made from flour, water and yeast, baked in an oven.
cheese|Cheese is a food made from milk.
honey|Honey is a sweet food that bees make from the nectar of flowers.
sugar|Sugar is a sweet food that comes from plants.
salt|Salt is a white mineral that gives food more taste. It comes from the sea or from mines.
chocolate|Chocolate is a sweet food made from cocoa beans.
tea|Tea is a drink made by pouring hot water over dried leaves.
coffee|Coffee is a dark drink made from roasted coffee beans.
pizza|Pizza is a flat bread baked with tomatoes, cheese and other things on it.
glass|Glass is a hard, clear material made from melted sand.
paper|Paper is a thin material made from wood, on which people write and print.
wood|Wood is the hard material that trees are made of.
plastic|Plastic is a light material that is mostly made from oil.
metal|Metal is a hard, shiny material such as iron, gold or copper.
gold|Gold is a yellow, shiny metal that is worth a lot.
wool|Wool is the soft hair of sheep, used to make warm clothes.
a diamond|A diamond is a very hard, clear stone that is used in rings.""".split("\n"))
# The question | the same as a clause | the answer.
REASONS = [line.split("|") for line in """Why is the sky blue?|why the sky is blue|The air scatters blue light from the sun more than other colors, so the sky looks blue.
Why is the sunset red?|why the sunset is red|In the evening sunlight goes a long way through the air, which scatters away the blue, so the red is left.
Why is grass green?|why grass is green|Grass is green because of chlorophyll, which it uses to catch light.
Why are leaves green?|why leaves are green|Leaves hold chlorophyll, a green stuff with which they catch light.
Why do leaves fall in autumn?|why leaves fall in autumn|Trees drop their leaves to save water and energy in the cold months.
Why is the sea salty?|why the sea is salty|Rain washes salt out of the rocks, and rivers carry it to the sea, where it stays.
Why is the sea blue?|why the sea is blue|Water takes in red light more than blue, and the sea also mirrors the sky.
Why does it rain?|why it rains|Water rises into the air, cools down and becomes clouds. When the drops get heavy, they fall as rain.
Why does it snow?|why it snows|When it is cold enough, the water in clouds freezes and falls as snow.
Why is snow white?|why snow is white|Snow reflects all colors of light about equally, and together they look white.
Why is ice cold?|why ice is cold|Ice is at or below 0 degrees, so it takes heat away from your hand.
Why does ice float?|why ice floats|Ice is lighter than the same amount of water, so it floats.
Why does ice melt?|why ice melts|When it is warmer than 0 degrees, ice takes in heat and becomes water.
Why do ships float?|why ships float|A ship pushes away water that weighs as much as the ship, and that water holds it up.
Why do planes fly?|why planes fly|The wings push air down as the plane moves forward, and that lifts the plane up.
How do planes fly?|how planes fly|The engines push the plane forward, and the wings turn the moving air into lift.
How do birds fly?|how birds fly|Birds push the air down with their wings, and that lifts them up.
Why do birds sing?|why birds sing|Birds sing to find a mate and to tell others where their home is.
Why do birds fly south?|why birds fly south in winter|In winter there is little food in the north, so many birds fly to warmer places.
Why do cats purr?|why cats purr|Cats mostly purr when they feel well and safe. Sometimes they do it to calm themselves.
Why do cats like boxes?|why cats like boxes|A box is warm and safe, and a cat can hide in it.
Why do cats have whiskers?|why cats have whiskers|With their whiskers cats can feel what is near them, even in the dark.
Why do cats sleep so much?|why cats sleep so much|Cats are hunters that save their strength, so they rest most of the day.
Why do dogs bark?|why dogs bark|Dogs bark to warn, to call others, or because they are excited.
Why do dogs wag their tails?|why dogs wag their tails|Dogs wag their tails to show what they feel, often that they are glad.
Why do dogs pant?|why dogs pant|Dogs cool down by breathing fast with an open mouth, since they can hardly sweat.
Why do cows chew so long?|why cows chew so long|Cows chew their grass twice, because it is hard to digest.
Why do bees make honey?|why bees make honey|Bees make honey as food for the winter.
How do bees make honey?|how bees make honey|Bees collect nectar from flowers, carry it to the hive and let it dry until it is honey.
Why do bees visit flowers?|why bees visit flowers|Bees collect nectar and pollen from flowers as food.
Why do bees sting?|why bees sting|Bees sting to defend themselves and their hive.
Why do spiders make webs?|why spiders make webs|Spiders catch insects in their webs and eat them.
Why do zebras have stripes?|why zebras have stripes|The stripes probably keep biting flies away and make it harder for lions to pick one zebra.
Why do giraffes have long necks?|why giraffes have long necks|With their long necks giraffes can eat leaves high up in the trees.
Why do camels have humps?|why camels have humps|A camel stores fat in its hump and lives on it when there is no food.
Why do elephants have trunks?|why elephants have trunks|An elephant uses its trunk to smell, to drink, to grab things and to greet others.
Why do owls hunt at night?|why owls hunt at night|Owls see and hear very well in the dark, and many of the animals they eat come out at night.
Why do bears sleep in winter?|why bears sleep in winter|In winter there is little food, so bears rest and live on their fat.
Why do snakes shed their skin?|why snakes shed their skin|A snake grows, but its skin does not, so it gets a new one.
Why do frogs croak?|why frogs croak|Male frogs croak to call the females.
Why do fish live in water?|why fish live in water|Fish breathe with gills, which take oxygen out of the water.
How do fish breathe?|how fish breathe|Fish breathe with gills, which take oxygen out of the water.
Why do fireflies glow?|why fireflies glow|Fireflies make light in their bodies to find each other.
Why do flowers smell?|why flowers smell|Flowers smell sweet so that bees and other insects come to them.
Why are flowers colorful?|why flowers are colorful|With their colors flowers call bees and other insects.
Why do plants need water?|why plants need water|Plants need water to make their food and to carry it through stem and leaves.
Why do plants need light?|why plants need light|Plants use light to make their food from air and water.
How do plants grow?|how plants grow|Plants take up water from the soil, and with light and air they make the food from which they grow.
How do trees drink?|how trees drink|Trees take up water with their roots and draw it up to the leaves.
Why do trees have roots?|why trees have roots|Roots hold a tree in the ground and take up water.
Why do we sleep?|why we sleep|While we sleep, the body rests and the brain sorts what happened in the day.
Why do we dream?|why we dream|Nobody knows for sure. Dreams may help the brain to sort what we have felt and learned.
Why do we eat?|why we eat|Food gives the body energy and what it needs to grow.
Why do we drink water?|why we drink water|The body is mostly water and loses some all the time, so we must drink.
Why do we breathe?|why we breathe|The body needs oxygen from the air to get energy out of food.
Why do we yawn?|why we yawn|We yawn when we are tired or bored. Why exactly is not known for sure.
Why do we sneeze?|why we sneeze|A sneeze blows dust and germs out of the nose.
Why do we cough?|why we cough|A cough clears the throat and the lungs.
Why do we cry?|why we cry|Tears keep the eyes clean, and we also cry when we feel something strongly.
Why do we laugh?|why we laugh|We laugh when something is funny, and laughing together brings people closer.
Why do we blink?|why we blink|When we blink, the eyelids keep the eyes wet and clean.
Why do we sweat?|why we sweat|Sweat cools the skin when it dries.
Why do we get hungry?|why we get hungry|When the stomach is empty, the body tells the brain that it needs food.
Why do we have two eyes?|why we have two eyes|With two eyes we can see how far away things are.
Why do we have teeth?|why we have teeth|With our teeth we bite and chew food, so that we can swallow it.
Why should I brush my teeth?|why I should brush my teeth|Brushing takes away food and germs that would make holes in the teeth.
Why should I wash my hands?|why I should wash my hands|Soap and water take away germs that could make you ill.
Why is sleep important?|why sleep is important|Without enough sleep we cannot think well and get ill more easily.
Why is exercise good?|why exercise is good|Exercise makes the heart and the muscles strong and lifts the mood.
Why is fruit healthy?|why fruit is healthy|Fruit has vitamins and water that the body needs.
Why is sugar bad for teeth?|why sugar is bad for teeth|Germs in the mouth turn sugar into acid, and acid makes holes in the teeth.
Why is blood red?|why blood is red|Blood is red because of the iron in it that carries oxygen.
Why do we have bones?|why we have bones|Bones hold the body up and protect what is inside.
Why does the heart beat?|why the heart beats|The heart beats to pump blood through the whole body.
Why do people get old?|why people get old|With the years the cells of the body repair themselves less and less well.
Why do babies cry?|why babies cry|Babies cannot talk yet, so they cry when they need something.
Why do children play?|why children play|By playing children learn and have fun.
Why do we go to school?|why we go to school|In school we learn to read, to write, to calculate and many other things.
Why do people work?|why people work|People work to earn money and to make things that others need.
Why do we need money?|why we need money|With money people can trade things easily without having to swap them.
Why do we wear clothes?|why we wear clothes|Clothes keep us warm and protect us from sun and rain.
Why do we say thank you?|why we say thank you|We say thank you to show that we are glad about what someone did.
Why should I not lie?|why I should not lie|If you lie, people can no longer trust you.
Why do friends matter?|why friends matter|Friends help each other and make life more fun.
Why is it dark at night?|why it is dark at night|At night our side of the earth is turned away from the sun.
Why is it cold in winter?|why it is cold in winter|In winter the sun stands low and shines only for a short time each day.
Why is it warm in summer?|why it is warm in summer|In summer the sun stands high and shines for a long time each day.
Why are there seasons?|why there are seasons|The earth is tilted, so each half gets more sun in one part of the year and less in the other.
Why is the sun hot?|why the sun is hot|Deep inside the sun, tiny parts of gas join together, and that sets free very much heat.
Why does the sun shine?|why the sun shines|Inside the sun hydrogen turns into helium, and that gives light and heat.
Why does the moon shine?|why the moon shines|The moon has no light of its own. It reflects the light of the sun.
Why does the moon change its shape?|why the moon changes its shape|The moon goes around the earth, so we see more or less of its sunny side.
Why do stars twinkle?|why stars twinkle|The light of the stars goes through moving air, which makes it flicker.
Why can't we see stars by day?|why we can't see stars by day|By day the sky is so bright from the sun that the faint stars cannot be seen.
Why is the earth round?|why the earth is round|Gravity pulls everything towards the middle, and that makes a ball.
Why do things fall down?|why things fall down|Gravity pulls everything towards the ground.
Why are there tides?|why there are tides|The moon pulls at the water of the sea, so it rises and falls.
Why are there waves?|why there are waves|Wind blows over the water and pushes it up into waves.
Why is there wind?|why there is wind|The sun warms the air in some places more than in others, and the air moves to balance that.
Why does thunder come after lightning?|why thunder comes after lightning|Light is much faster than sound, so we see the flash first.
How does a rainbow form?|how a rainbow forms|Sunlight is split into its colors by drops of rain.
How do clouds form?|how clouds form|Warm wet air rises and cools, and the water in it becomes tiny drops.
Why do volcanoes erupt?|why volcanoes erupt|Hot melted rock and gas from below press upwards until they break out.
Why does fire burn?|why fire burns|Fire burns when fuel is hot and gets oxygen from the air.
Why is fire hot?|why fire is hot|When something burns, energy that was stored in it is set free as heat.
Why does water boil?|why water boils|At 100 degrees water gets so hot that it turns into steam.
Why does wood float?|why wood floats|Most wood is lighter than the same amount of water.
Why does a stone sink?|why a stone sinks|A stone is heavier than the same amount of water.
Why does bread rise?|why bread rises|Yeast makes gas in the dough, and the bubbles make it rise.
How is bread made?|how bread is made|Flour, water, salt and yeast are mixed to a dough, which rises and is then baked.
How is cheese made?|how cheese is made|Milk is made to thicken, the water is pressed out, and what is left ripens.
How is glass made?|how glass is made|Sand is melted at great heat and cools down as glass.
How is paper made?|how paper is made|Wood is turned into a wet pulp, which is pressed flat and dried.
Why do onions make us cry?|why onions make us cry|A cut onion gives off a gas that stings the eyes.
Why does milk turn sour?|why milk turns sour|Germs in the milk turn its sugar into acid.
Why do bananas turn brown?|why bananas turn brown|As a banana ripens, air changes stuff in its skin, and that turns brown.
Why does iron rust?|why iron rusts|Iron rusts when water and oxygen get to it.
Why is a mirror shiny?|why a mirror is shiny|Behind the glass there is a thin layer of metal that reflects the light.
How does a magnet work?|how a magnet works|In a magnet many tiny magnets point the same way, and together they pull iron.
How does a boat float?|how a boat floats|A boat pushes water aside, and the water pushes back and holds it up.
How does a clock work?|how a clock works|Something in the clock swings at a steady pace, and wheels or a chip count the swings.
How does a telephone work?|how a telephone works|It turns your voice into electric signals, sends them, and the other phone turns them back into sound.
How does a computer work?|how a computer works|A computer follows the instructions of a program very quickly, one after the other.
How does a fridge work?|how a fridge works|A fridge carries the heat from inside to the outside with a liquid that turns into gas and back.
How does a bicycle stay up?|how a bicycle stays up|While it rolls, the rider steers a little to each side and so keeps it upright.
How do I make tea?|how to make tea|Boil water, pour it over the tea, wait a few minutes and take out the leaves.
How do I boil an egg?|how to boil an egg|Put the egg into boiling water and wait: about 5 minutes for a soft egg, 10 for a hard one.
How do I make a friend?|how to make a friend|Be kind, say hello, listen, and do something together.
How do I fall asleep?|how to fall asleep|Make the room dark and quiet, put away the phone and breathe slowly.
How do I learn faster?|how to learn faster|Learn a little every day, test yourself, and sleep enough.
How do I stay healthy?|how to stay healthy|Eat fruit and vegetables, move every day, sleep enough and drink water.
How do I plant a tree?|how to plant a tree|Dig a hole, put the roots into it, fill it with soil and water it well.
How do I make a sandwich?|how to make a sandwich|Put butter, cheese or whatever you like between two slices of bread.""".split("\n")]


def exchange(rng: random.Random) -> tuple[str, str]:
    """A question and its explanation."""
    if rng.random() < 0.5:
        thing, answer = rng.choice(list(THINGS.items()))
        return rng.choice(["What is {}?", "What is {}?", "What's {}?", "Explain {}.", "Can you explain what {} is?", "Tell me what {} is.", "Do you know what {} is?", "Please explain what {} is.", "what is {}", "Define {}."]).format(thing), answer
    question, clause, answer = rng.choice(REASONS)
    return rng.choice(["{q}", "{q}", "{q}", "Can you tell me {c}?", "Explain {c}.", "Do you know {c}?", "Tell me {c}.", "I wonder {c}.", "Can you explain {c}?", "My daughter asks {c}."]).format(q=question, c=clause), answer
