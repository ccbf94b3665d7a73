"""Functions that everybody asks for, each written once: what they do, names, parameters, body and inputs."""

from __future__ import annotations

import random
from typing import Any

from train import words
from train.code_parts import Inputs, Task


def numbers(rng: random.Random) -> list[int]:
    return [rng.randint(-9, 20) for _ in range(rng.randint(3, 6))]


def one_list(rng: random.Random) -> tuple[Any, ...]:
    return (numbers(rng),)


def one_word(rng: random.Random) -> tuple[Any, ...]:
    return (rng.choice(words.ANIMALS + words.FRUITS + words.COLOURS + ["level", "noon", "hello", "python"]),)


def one_text(rng: random.Random) -> tuple[Any, ...]:
    return (" ".join(rng.sample(words.ANIMALS + words.ADJECTIVES, rng.randint(2, 4))),)


def one_number(rng: random.Random) -> tuple[Any, ...]:
    return (rng.randint(1, 12),)


def two_numbers(rng: random.Random) -> tuple[Any, ...]:
    return rng.randint(1, 30), rng.randint(1, 12)


def three_numbers(rng: random.Random) -> tuple[Any, ...]:
    return rng.randint(-9, 30), rng.randint(-9, 30), rng.randint(-9, 30)


def list_and_number(rng: random.Random) -> tuple[Any, ...]:
    values = numbers(rng)
    return values, rng.choice(values + [5])


def two_lists(rng: random.Random) -> tuple[Any, ...]:
    return numbers(rng), numbers(rng)


def word_list(rng: random.Random) -> tuple[Any, ...]:
    return (rng.sample(words.ANIMALS + words.FRUITS, rng.randint(2, 5)),)


def word_and_letter(rng: random.Random) -> tuple[Any, ...]:
    word = one_word(rng)[0]
    return word, rng.choice(word)


# What is asked, function names, parameters, body, inputs for tests.
CLASSICS: list[tuple[str, list[str], str, str, Inputs]] = [
    ("returns the sum of two numbers", ["add", "add_numbers", "sum_two"], "a, b", "return a + b", two_numbers),
    ("returns the difference of two numbers", ["subtract", "difference"], "a, b", "return a - b", two_numbers),
    ("returns the product of two numbers", ["multiply", "product"], "a, b", "return a * b", two_numbers),
    ("returns the larger of two numbers", ["larger", "max_of_two"], "a, b", "if a > b:\n    return a\nreturn b", two_numbers),
    ("returns the smaller of two numbers", ["smaller", "min_of_two"], "a, b", "if a < b:\n    return a\nreturn b", two_numbers),
    ("returns the largest of three numbers", ["max_of_three", "largest_of_three"], "a, b, c", "return max(a, b, c)", three_numbers),
    ("returns the smallest of three numbers", ["min_of_three", "smallest_of_three"], "a, b, c", "return min(a, b, c)", three_numbers),
    ("checks if a number is even", ["is_even", "even"], "n", "return n % 2 == 0", one_number),
    ("checks if a number is odd", ["is_odd", "odd"], "n", "return n % 2 == 1", one_number),
    ("checks if a number is prime", ["is_prime", "prime"], "n", "if n < 2:\n    return False\nfor i in range(2, n):\n    if n % i == 0:\n        return False\nreturn True", one_number),
    ("returns the factorial of n", ["factorial", "fact"], "n", "result = 1\nfor i in range(2, n + 1):\n    result *= i\nreturn result", lambda rng: (rng.randint(0, 7),)),
    ("returns the n-th Fibonacci number", ["fibonacci", "fib"], "n", "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a", one_number),
    ("returns the greatest common divisor of two numbers", ["gcd", "greatest_common_divisor"], "a, b", "while b:\n    a, b = b, a % b\nreturn a", two_numbers),
    ("returns the sum of the digits of n", ["digit_sum", "sum_digits"], "n", "return sum(int(digit) for digit in str(n))", lambda rng: (rng.randint(1, 9999),)),
    ("returns the sum of the numbers from 1 to n", ["sum_to", "sum_up_to"], "n", "total = 0\nfor i in range(1, n + 1):\n    total += i\nreturn total", one_number),
    ("counts down from n to 1 and returns a list", ["countdown", "count_down"], "n", "return list(range(n, 0, -1))", one_number),
    ("returns a list of the numbers from 1 to n", ["numbers_to", "count_up"], "n", "return list(range(1, n + 1))", one_number),
    ("returns the absolute value of a number", ["absolute", "absolute_value"], "x", "if x < 0:\n    return -x\nreturn x", lambda rng: (rng.randint(-20, 20),)),
    ("converts Celsius to Fahrenheit", ["to_fahrenheit", "celsius_to_fahrenheit"], "c", "return c * 9 / 5 + 32", lambda rng: (rng.randint(0, 40),)),
    ("returns the area of a rectangle", ["rectangle_area", "area"], "width, height", "return width * height", two_numbers),
    ("returns the area of a square", ["square_area", "area_of_square"], "side", "return side * side", one_number),
    ("raises a to the power of b", ["power", "raise_to"], "a, b", "return a ** b", lambda rng: (rng.randint(1, 9), rng.randint(0, 4))),
    ("reverses a string", ["reverse_string", "reverse"], "text", "return text[::-1]", one_word),
    ("checks if a string is a palindrome", ["is_palindrome", "palindrome"], "text", "return text == text[::-1]", one_word),
    ("counts the vowels in a string", ["count_vowels", "vowels"], "text", "count = 0\nfor letter in text:\n    if letter in \"aeiou\":\n        count += 1\nreturn count", one_word),
    ("counts the words in a string", ["count_words", "word_count"], "text", "return len(text.split())", one_text),
    ("makes a string upper case", ["to_upper", "shout"], "text", "return text.upper()", one_text),
    ("makes the first letter of a string a capital", ["capitalize_first", "capital"], "text", "return text[0].upper() + text[1:]", one_word),
    ("counts how often a letter is in a string", ["count_letter", "letter_count"], "text, letter", "count = 0\nfor one in text:\n    if one == letter:\n        count += 1\nreturn count", word_and_letter),
    ("removes the vowels from a string", ["remove_vowels", "without_vowels"], "text", "return \"\".join(letter for letter in text if letter not in \"aeiou\")", one_word),
    ("returns the longest word of a text", ["longest_word", "find_longest"], "text", "return max(text.split(), key=len)", one_text),
    ("reverses the words of a text", ["reverse_words", "words_backwards"], "text", "return \" \".join(reversed(text.split()))", one_text),
    ("returns the sum of a list", ["sum_list", "total"], "numbers", "total = 0\nfor number in numbers:\n    total += number\nreturn total", one_list),
    ("returns the average of a list", ["average", "mean"], "numbers", "return sum(numbers) / len(numbers)", lambda rng: ([rng.randint(1, 9) * 4 for _ in range(4)],)),
    ("returns the largest number of a list", ["largest", "find_max"], "numbers", "largest = numbers[0]\nfor number in numbers:\n    if number > largest:\n        largest = number\nreturn largest", one_list),
    ("returns the smallest number of a list", ["smallest", "find_min"], "numbers", "smallest = numbers[0]\nfor number in numbers:\n    if number < smallest:\n        smallest = number\nreturn smallest", one_list),
    ("reverses a list", ["reverse_list", "reversed_list"], "items", "return items[::-1]", one_list),
    ("sorts a list", ["sort_list", "sorted_list"], "items", "return sorted(items)", one_list),
    ("removes duplicates from a list", ["unique", "remove_duplicates"], "items", "result = []\nfor item in items:\n    if item not in result:\n        result.append(item)\nreturn result", one_list),
    ("checks if a value is in a list", ["contains", "is_in_list"], "items, value", "return value in items", list_and_number),
    ("counts how often a value is in a list", ["count_value", "occurrences"], "items, value", "count = 0\nfor item in items:\n    if item == value:\n        count += 1\nreturn count", list_and_number),
    ("finds the index of a value in a list, or -1", ["find_index", "index_of"], "items, value", "for i, item in enumerate(items):\n    if item == value:\n        return i\nreturn -1", list_and_number),
    ("joins two lists", ["join_lists", "concat"], "a, b", "return a + b", two_lists),
    ("returns the numbers that are in both lists", ["common", "intersection"], "a, b", "return [item for item in a if item in b]", two_lists),
    ("adds two lists element by element", ["add_lists", "sum_pairs"], "a, b", "return [x + y for x, y in zip(a, b)]", two_lists),
    ("returns the first element of a list, or None", ["first", "first_item"], "items", "if not items:\n    return None\nreturn items[0]", one_list),
    ("returns the last element of a list, or None", ["last", "last_item"], "items", "if not items:\n    return None\nreturn items[-1]", one_list),
    ("counts the elements of a list", ["count_items", "length"], "items", "count = 0\nfor _ in items:\n    count += 1\nreturn count", one_list),
    ("returns the lengths of the words in a list", ["word_lengths", "lengths"], "words", "return [len(word) for word in words]", word_list),
    ("joins words with commas", ["join_words", "with_commas"], "words", "return \", \".join(words)", word_list),
    ("counts the letters of a string in a dictionary", ["letter_counts", "count_letters"], "text", "counts = {}\nfor letter in text:\n    counts[letter] = counts.get(letter, 0) + 1\nreturn counts", one_word),
    ("swaps two values and returns them", ["swap", "swap_values"], "a, b", "return b, a", two_numbers),
    ("says whether a number is positive, negative or zero", ["sign", "sign_of"], "x", "if x > 0:\n    return \"positive\"\nif x < 0:\n    return \"negative\"\nreturn \"zero\"", lambda rng: (rng.randint(-5, 5),)),
    ("returns Fizz, Buzz, FizzBuzz or the number as a string", ["fizz_buzz", "fizzbuzz"], "n", "if n % 15 == 0:\n    return \"FizzBuzz\"\nif n % 3 == 0:\n    return \"Fizz\"\nif n % 5 == 0:\n    return \"Buzz\"\nreturn str(n)", lambda rng: (rng.randint(1, 30),)),
    ("returns the last n elements of a list", ["last_n", "tail"], "items, n", "return items[-n:]", lambda rng: (numbers(rng), rng.randint(1, 3))),
    ("checks if a year is a leap year", ["is_leap_year", "leap_year"], "year", "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)", lambda rng: (rng.choice([1900, 2000, 2023, 2024, 2100, rng.randint(1900, 2100)]),)),
    ("returns the number of days in a month of a year", ["days_in_month", "month_days"], "month, year", "if month == 2:\n    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n    return 29 if leap else 28\nif month in (4, 6, 9, 11):\n    return 30\nreturn 31", lambda rng: (rng.randint(1, 12), rng.randint(1990, 2030))),
    ("converts Fahrenheit to Celsius", ["to_celsius", "fahrenheit_to_celsius"], "f", "return (f - 32) * 5 / 9", lambda rng: (rng.randint(0, 110),)),
    ("checks if two strings are anagrams", ["are_anagrams", "is_anagram"], "a, b", "return sorted(a) == sorted(b)", lambda rng: rng.choice([("listen", "silent"), ("apple", "pear"), ("night", "thing"), ("cat", "dog")])),
    ("returns the second largest number of a list", ["second_largest", "second_max"], "numbers", "return sorted(set(numbers))[-2]", lambda rng: (rng.sample(range(50), 5),)),
    ("returns the median of a list of numbers", ["median", "find_median"], "numbers", "ordered = sorted(numbers)\nmiddle = len(ordered) // 2\nif len(ordered) % 2 == 1:\n    return ordered[middle]\nreturn (ordered[middle - 1] + ordered[middle]) / 2", one_list),
    ("returns the most common element of a list", ["most_common", "mode"], "items", "return max(items, key=items.count)", one_list),
    ("flattens a list of lists", ["flatten", "flatten_list"], "lists", "return [item for one in lists for item in one]", lambda rng: ([numbers(rng), numbers(rng)],)),
    ("merges two dictionaries", ["merge_dicts", "merge"], "a, b", "return {**a, **b}", lambda rng: ({"a": 1, "b": rng.randint(1, 9)}, {"b": 5, "c": 6})),
    ("inverts a dictionary", ["invert", "invert_dict"], "data", "return {value: key for key, value in data.items()}", lambda rng: ({"a": rng.randint(1, 5), "b": 7},)),
    ("returns the key with the largest value of a dictionary", ["key_of_max", "max_key"], "data", "return max(data, key=data.get)", lambda rng: ({"a": rng.randint(1, 5), "b": 3, "c": rng.randint(1, 9)},)),
    ("counts the words of a text in a dictionary", ["word_counts", "word_frequency"], "text", "counts = {}\nfor word in text.split():\n    counts[word] = counts.get(word, 0) + 1\nreturn counts", one_text),
    ("sorts a list with bubble sort", ["bubble_sort", "sort_by_bubbles"], "items", "items = items[:]\nfor i in range(len(items)):\n    for j in range(len(items) - 1 - i):\n        if items[j] > items[j + 1]:\n            items[j], items[j + 1] = items[j + 1], items[j]\nreturn items", one_list),
    ("sorts a list with insertion sort", ["insertion_sort", "sort_by_insertion"], "items", "result = []\nfor item in items:\n    i = len(result)\n    while i > 0 and result[i - 1] > item:\n        i -= 1\n    result.insert(i, item)\nreturn result", one_list),
    ("sorts a list with quicksort", ["quicksort", "quick_sort"], "items", "if len(items) < 2:\n    return items\npivot = items[0]\nsmaller = [x for x in items[1:] if x < pivot]\nlarger = [x for x in items[1:] if x >= pivot]\nreturn {n}(smaller) + [pivot] + {n}(larger)", one_list),
    ("finds a value in a sorted list with binary search and returns its index, or -1", ["binary_search", "search_sorted"], "items, value", "low, high = 0, len(items) - 1\nwhile low <= high:\n    middle = (low + high) // 2\n    if items[middle] == value:\n        return middle\n    if items[middle] < value:\n        low = middle + 1\n    else:\n        high = middle - 1\nreturn -1", lambda rng: (sorted(rng.sample(range(40), 6)), rng.randint(0, 40))),
    ("returns the first n Fibonacci numbers", ["fibonacci_list", "first_fibonacci"], "n", "result = []\na, b = 0, 1\nfor _ in range(n):\n    result.append(a)\n    a, b = b, a + b\nreturn result", one_number),
    ("returns the prime numbers up to n", ["primes_up_to", "primes"], "n", "return [p for p in range(2, n + 1) if all(p % d != 0 for d in range(2, p))]", lambda rng: (rng.randint(2, 40),)),
    ("returns the prime factors of n", ["prime_factors", "factorize"], "n", "factors = []\nd = 2\nwhile n > 1:\n    while n % d == 0:\n        factors.append(d)\n        n //= d\n    d += 1\nreturn factors", lambda rng: (rng.randint(2, 200),)),
    ("returns the divisors of n", ["divisors", "find_divisors"], "n", "return [d for d in range(1, n + 1) if n % d == 0]", lambda rng: (rng.randint(1, 60),)),
    ("returns the least common multiple of two numbers", ["lcm", "least_common_multiple"], "a, b", "x, y = a, b\nwhile y:\n    x, y = y, x % y\nreturn a * b // x", two_numbers),
    ("checks if a number is a perfect square", ["is_perfect_square", "is_square"], "n", "return int(n ** 0.5) ** 2 == n", lambda rng: (rng.choice([4, 9, 16, 10, 12, 49, 50]),)),
    ("checks if a number is a power of two", ["is_power_of_two", "power_of_two"], "n", "return n > 0 and n & (n - 1) == 0", lambda rng: (rng.choice([1, 2, 3, 8, 12, 16, 31]),)),
    ("checks if a number is perfect", ["is_perfect", "is_perfect_number"], "n", "return n > 1 and sum(d for d in range(1, n) if n % d == 0) == n", lambda rng: (rng.choice([6, 28, 12, 10]),)),
    ("checks if a number is an Armstrong number", ["is_armstrong", "armstrong"], "n", "digits = str(n)\nreturn sum(int(d) ** len(digits) for d in digits) == n", lambda rng: (rng.choice([153, 370, 100, 9, 371]),)),
    ("reverses the digits of a number", ["reverse_number", "reverse_digits"], "n", "return int(str(n)[::-1])", lambda rng: (rng.randint(1, 9999),)),
    ("converts a number to binary as a string", ["to_binary", "binary"], "n", "return bin(n)[2:]", one_number),
    ("converts a binary string to a number", ["from_binary", "binary_to_int"], "text", "return int(text, 2)", lambda rng: (bin(rng.randint(1, 99))[2:],)),
    ("converts a number to a Roman numeral", ["to_roman", "roman"], "n", "values = [(1000, \"M\"), (900, \"CM\"), (500, \"D\"), (400, \"CD\"), (100, \"C\"), (90, \"XC\"), (50, \"L\"), (40, \"XL\"), (10, \"X\"), (9, \"IX\"), (5, \"V\"), (4, \"IV\"), (1, \"I\")]\nresult = \"\"\nfor value, numeral in values:\n    while n >= value:\n        result += numeral\n        n -= value\nreturn result", lambda rng: (rng.randint(1, 3000),)),
    ("shifts the letters of a text by n with a Caesar cipher", ["caesar", "caesar_cipher"], "text, n", "result = \"\"\nfor letter in text:\n    if letter.isalpha():\n        start = ord(\"A\") if letter.isupper() else ord(\"a\")\n        result += chr((ord(letter) - start + n) % 26 + start)\n    else:\n        result += letter\nreturn result", lambda rng: (one_text(rng)[0], rng.randint(1, 25))),
    ("transposes a matrix", ["transpose", "transpose_matrix"], "rows", "return [list(column) for column in zip(*rows)]", lambda rng: ([[1, 2, 3], [4, 5, rng.randint(1, 9)]],)),
    ("multiplies two matrices", ["matrix_multiply", "multiply_matrices"], "a, b", "return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]", lambda rng: ([[1, 2], [3, rng.randint(1, 9)]], [[5, 6], [7, 8]])),
    ("adds two matrices", ["add_matrices", "matrix_sum"], "a, b", "return [[x + y for x, y in zip(one, other)] for one, other in zip(a, b)]", lambda rng: ([[1, 2], [3, rng.randint(1, 9)]], [[5, 6], [7, 8]])),
    ("returns the sum of the diagonal of a square matrix", ["diagonal_sum", "trace"], "rows", "return sum(rows[i][i] for i in range(len(rows)))", lambda rng: ([[1, 2], [3, rng.randint(1, 9)]],)),
    ("rotates a list by n places to the right", ["rotate_right", "rotate"], "items, n", "n = n % len(items)\nreturn items[-n:] + items[:-n] if n else items[:]", lambda rng: (numbers(rng), rng.randint(0, 5))),
    ("splits a list into chunks of size n", ["chunks", "chunk"], "items, n", "return [items[i:i + n] for i in range(0, len(items), n)]", lambda rng: (numbers(rng), rng.randint(1, 3))),
    ("checks if a list is sorted", ["is_sorted", "sorted_check"], "items", "return all(a <= b for a, b in zip(items, items[1:]))", lambda rng: (rng.choice([[1, 2, 3], [3, 1, 2], numbers(rng)]),)),
    ("checks if a string has balanced brackets", ["is_balanced", "balanced"], "text", "pairs = {\")\": \"(\", \"]\": \"[\", \"}\": \"{\"}\nstack = []\nfor letter in text:\n    if letter in \"([{\":\n        stack.append(letter)\n    elif letter in pairs:\n        if not stack or stack.pop() != pairs[letter]:\n            return False\nreturn not stack", lambda rng: (rng.choice(["(a)", "([])", "(]", "((", "{[()]}", ")("]),)),
    ("returns the running sums of a list", ["running_sums", "cumulative_sum"], "numbers", "total = 0\nresult = []\nfor number in numbers:\n    total += number\n    result.append(total)\nreturn result", one_list),
    ("returns the first letter that is only once in a string, or None", ["first_unique", "first_non_repeating"], "text", "for letter in text:\n    if text.count(letter) == 1:\n        return letter\nreturn None", one_word),
    ("removes punctuation from a string", ["remove_punctuation", "strip_punctuation"], "text", "return \"\".join(c for c in text if c.isalnum() or c == \" \")", lambda rng: (one_text(rng)[0] + "!?",)),
    ("checks if a string contains only digits", ["only_digits", "is_numeric"], "text", "return text.isdigit()", lambda rng: (rng.choice(["123", "12a", "7", "x"]),)),
    ("converts seconds to hours, minutes and seconds", ["split_seconds", "hms"], "seconds", "hours = seconds // 3600\nminutes = seconds % 3600 // 60\nreturn hours, minutes, seconds % 60", lambda rng: (rng.randint(0, 20000),)),
    ("formats seconds as mm:ss", ["format_time", "minutes_seconds"], "seconds", "return f\"{seconds // 60:02d}:{seconds % 60:02d}\"", lambda rng: (rng.randint(0, 3000),)),
    ("converts a time hh:mm to minutes", ["to_minutes", "minutes_of"], "time", "hours, minutes = time.split(\":\")\nreturn int(hours) * 60 + int(minutes)", lambda rng: (f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}",)),
    ("returns the factorial of n with recursion", ["factorial_recursive", "fact"], "n", "if n <= 1:\n    return 1\nreturn n * {n}(n - 1)", lambda rng: (rng.randint(0, 7),)),
    ("returns the n-th Fibonacci number with recursion", ["fibonacci_recursive", "fib"], "n", "if n < 2:\n    return n\nreturn {n}(n - 1) + {n}(n - 2)", lambda rng: (rng.randint(0, 12),)),
    ("returns the sum of a list with recursion", ["recursive_sum", "sum_recursive"], "numbers", "if not numbers:\n    return 0\nreturn numbers[0] + {n}(numbers[1:])", one_list),
    ("reverses a string with recursion", ["reverse_recursive", "recursive_reverse"], "text", "if text == \"\":\n    return \"\"\nreturn {n}(text[1:]) + text[0]", one_word),
    ("returns the area of a circle", ["circle_area", "area_of_circle"], "radius", "return 3.141592653589793 * radius ** 2", one_number),
    ("returns the perimeter of a rectangle", ["perimeter", "rectangle_perimeter"], "width, height", "return 2 * (width + height)", two_numbers),
    ("returns the area of a triangle", ["triangle_area", "area_of_triangle"], "base, height", "return base * height / 2", two_numbers),
    ("returns the hypotenuse of a right triangle", ["hypotenuse", "long_side"], "a, b", "return (a ** 2 + b ** 2) ** 0.5", two_numbers),
    ("returns the distance between two points", ["distance", "point_distance"], "x1, y1, x2, y2", "return ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5", lambda rng: tuple(rng.randint(0, 9) for _ in range(4))),
    ("greets a person by name", ["greet", "say_hello"], "name", "return f\"Hello, {name}!\"", lambda rng: (rng.choice(words.FIRST_NAMES),)),
    ("clamps a number between low and high", ["clamp", "limit"], "x, low, high", "return max(low, min(x, high))", lambda rng: (rng.randint(-9, 30), 0, 10)),
    ("checks if a number is between two others", ["is_between", "in_range"], "x, low, high", "return low <= x <= high", lambda rng: (rng.randint(-9, 30), 0, 10)),
    ("returns the grade A, B, C or F for a score", ["grade", "letter_grade"], "score", "if score >= 90:\n    return \"A\"\nif score >= 80:\n    return \"B\"\nif score >= 70:\n    return \"C\"\nreturn \"F\"", lambda rng: (rng.randint(50, 100),)),
    ("returns the initials of a name", ["initials", "get_initials"], "name", "return \"\".join(part[0].upper() for part in name.split())", lambda rng: (f"{rng.choice(words.FIRST_NAMES)} {rng.choice(words.LAST_NAMES)}",)),
    ("returns the middle element of a list", ["middle", "middle_item"], "items", "return items[len(items) // 2]", one_list),
    ("swaps the first and last element of a list", ["swap_ends", "swap_first_last"], "items", "items = items[:]\nitems[0], items[-1] = items[-1], items[0]\nreturn items", one_list),
    ("interleaves two lists", ["interleave", "zip_lists"], "a, b", "result = []\nfor x, y in zip(a, b):\n    result.append(x)\n    result.append(y)\nreturn result", two_lists),
    ("makes a dictionary from two lists", ["make_dict", "to_dict"], "keys, values", "return dict(zip(keys, values))", lambda rng: (["a", "b"], [rng.randint(1, 9), 2])),
    ("returns the union of two lists without duplicates, sorted", ["union", "combine"], "a, b", "return sorted(set(a) | set(b))", two_lists),
    ("returns the dot product of two lists", ["dot_product", "dot"], "a, b", "return sum(x * y for x, y in zip(a, b))", two_lists),
    ("moves all zeros to the end of a list", ["move_zeros", "zeros_last"], "numbers", "rest = [x for x in numbers if x != 0]\nreturn rest + [0] * (len(numbers) - len(rest))", lambda rng: ([rng.choice([0, 1, 2, 3]) for _ in range(6)],)),
    ("returns two numbers of a list that add up to a target, or None", ["two_sum", "find_pair"], "numbers, target", "for i, x in enumerate(numbers):\n    for y in numbers[i + 1:]:\n        if x + y == target:\n            return x, y\nreturn None", lambda rng: (rng.sample(range(12), 5), rng.randint(3, 20))),
    ("returns the longest common prefix of a list of words", ["common_prefix", "longest_prefix"], "words", "prefix = words[0]\nfor word in words:\n    while not word.startswith(prefix):\n        prefix = prefix[:-1]\nreturn prefix", lambda rng: (rng.choice([["flower", "flow", "flight"], ["dog", "cat"], ["test", "tester"]]),)),
    ("compresses a string by counting repeated letters", ["compress", "run_length"], "text", "result = \"\"\ni = 0\nwhile i < len(text):\n    j = i\n    while j < len(text) and text[j] == text[i]:\n        j += 1\n    result += text[i] + str(j - i)\n    i = j\nreturn result", lambda rng: (rng.choice(["aaabb", "abc", "zzzz", "aabbcc"]),)),
    ("returns the number of steps of the Collatz sequence of n", ["collatz_steps", "collatz"], "n", "steps = 0\nwhile n != 1:\n    n = n // 2 if n % 2 == 0 else 3 * n + 1\n    steps += 1\nreturn steps", one_number),
    ("returns the multiplication table of n up to 10 as a list", ["times_table", "multiplication_table"], "n", "return [n * i for i in range(1, 11)]", one_number),
    ("makes a string title case", ["title_case", "to_title"], "text", "return text.title()", one_text),
    ("makes a string lower case", ["to_lower", "lowercase"], "text", "return text.lower()", one_text),
    ("removes spaces from a string", ["remove_spaces", "no_spaces"], "text", "return text.replace(\" \", \"\")", one_text),
    ("returns the length of a string", ["string_length", "length_of"], "text", "return len(text)", one_text),
    ("divides two numbers, or returns None if the second is zero", ["safe_divide", "divide"], "a, b", "if b == 0:\n    return None\nreturn a / b", lambda rng: (rng.randint(1, 30), rng.randint(0, 5))),
    ("returns the remainder of a divided by b", ["remainder", "modulo"], "a, b", "return a % b", two_numbers),
    ("returns the square of a number", ["square", "squared"], "n", "return n * n", one_number),
    ("returns the cube of a number", ["cube", "cubed"], "n", "return n ** 3", one_number),
    ("adds three numbers", ["add_three", "sum_three"], "a, b, c", "return a + b + c", three_numbers),
    ("adds two numbers", ["add", "add_numbers"], "a, b", "return a + b", two_numbers),
    ("multiplies two numbers", ["multiply", "times"], "a, b", "return a * b", two_numbers),
    ("subtracts one number from another", ["subtract", "minus"], "a, b", "return a - b", two_numbers),
    ("returns the average of two numbers", ["average", "mean"], "a, b", "return (a + b) / 2", two_numbers),
    ("converts kilometres to miles", ["kilometres_to_miles", "to_miles"], "kilometres", "return kilometres * 0.621371", lambda rng: (rng.randint(0, 200),)),
    ("converts miles to kilometres", ["miles_to_kilometres", "to_kilometres"], "miles", "return miles * 1.60934", lambda rng: (rng.randint(0, 200),)),
    ("converts kilograms to pounds", ["kilograms_to_pounds", "to_pounds"], "kilograms", "return kilograms * 2.20462", lambda rng: (rng.randint(0, 200),)),
    ("converts pounds to kilograms", ["pounds_to_kilograms", "to_kilograms"], "pounds", "return pounds * 0.453592", lambda rng: (rng.randint(0, 200),)),
    ("converts inches to centimetres", ["inches_to_centimetres", "to_centimetres"], "inches", "return inches * 2.54", lambda rng: (rng.randint(0, 200),)),
    ("converts metres to feet", ["metres_to_feet", "to_feet"], "metres", "return metres * 3.28084", lambda rng: (rng.randint(0, 200),)),
    ("converts feet to metres", ["feet_to_metres", "to_metres"], "feet", "return feet * 0.3048", lambda rng: (rng.randint(0, 200),)),
    ("converts hours to minutes", ["hours_to_minutes", "to_minutes"], "hours", "return hours * 60", lambda rng: (rng.randint(0, 200),)),
    ("converts minutes to seconds", ["minutes_to_seconds", "to_seconds"], "minutes", "return minutes * 60", lambda rng: (rng.randint(0, 200),)),
    ("converts days to hours", ["days_to_hours", "to_hours"], "days", "return days * 24", lambda rng: (rng.randint(0, 200),)),
    ("converts hours to seconds", ["hours_to_seconds", "to_seconds"], "hours", "return hours * 3600", lambda rng: (rng.randint(0, 200),)),
]


def classic(rng: random.Random) -> Task:
    """Any of them; a name inside the body stands for the function's own."""
    what, names, parameters, body, inputs = rng.choice(CLASSICS)
    return Task(f"code classic {what}", what, names[0] if rng.random() < 0.7 else names[1], parameters.split(", "), body, inputs)
