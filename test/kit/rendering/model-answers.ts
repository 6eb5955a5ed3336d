/**
 * A corpus of answers as models write them, built from templates with a fixed seed, so that every run tests the same texts.
 */

export interface ModelAnswer {
  readonly name: string
  readonly text: string
}

/** A small generator of pseudo-random numbers (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const sentences: Readonly<Record<string, readonly string[]>> = {
  english: ['The **fast** option costs $5 and the *slow* one $6.', 'Set `MAX_SIZE` in the file_name_with_underscores.'],
  german: ['Die **Größe** beträgt 3,5 m².', 'Öffne die Datei `größe.txt`, dann *speichern*.'],
  french: ['Voilà l’**été** : il fait 30 °C.', 'C’est *très* simple, n’est-ce pas ?'],
  spanish: ['¿Cuánto **cuesta**? 20 € más *IVA*.', 'El niño comió ~~dos~~ tres manzanas.'],
  chinese: ['**注意：**这是一个重要的问题。', '他说**“你好”**，然后~~走了。~~回来', '使用*「引号」*的例子'],
  japanese: ['**重要：**この設定は必要です。', 'これは**「テスト」**です。', '価格は**1,000円（税込）**になります。'],
  korean: ['**중요(important)**는 설정입니다.', '이것은 *예시*입니다.'],
  thai: ['**สำคัญ:**โปรดอ่านก่อน', 'ราคา **100 บาท**ต่อชิ้น'],
  arabic: ['هذا **مهم** جدا، الرقم ١٢٣.', 'استخدم `npm install` ثم *ابدأ*.'],
  hindi: ['यह **महत्वपूर्ण** है।', 'कृपया *ध्यान* दें: `हिन्दी` पाठ।'],
  russian: ['Это **важно**: 5 > 3 & 2 < 4.', 'Нажмите *Сохранить* и ~~закройте~~ окно.'],
  hebrew: ['זה **חשוב** מאוד.', 'הקלד `ls -la` בטרמינל.'],
}

const code: Readonly<Record<string, string>> = {
  js: `const a = \`x \${1 < 2}\`\nif (a && !b) console.log("**no bold**")`,
  python: 'def f(*args, **kwargs):\n    return args[0] ** 2  # _private_',
  go: 'func main() {\n\tch := make(chan<- int)\n\tch <- 1\n}',
  rust: "fn f<'a>(x: &'a str) -> Option<&'a str> { Some(x) }",
  c: '#include <stdio.h>\nint main(void) { int *p = &x; return *p; }',
  java: 'List<String> a = new ArrayList<>(); // &amp; stays',
  sql: "SELECT * FROM t WHERE a <> 1 AND b LIKE '%_x%';",
  bash: 'for f in *.txt; do echo "$f: $(wc -l < "$f")"; done',
  html: '<div class="a">&copy; <b>x</b></div>\n<!-- comment -->',
  yaml: 'a: &anchor\n  - "*x*"\n  - <<: *anchor',
  latex: '\\[ x_1 \\] and $y$',
  '': 'plain | text\n---------',
}

const formulas = [
  'The area is \\(a_1 * b_2\\) and the volume \\(V = a*b*c\\).',
  'Solve \\[ x_1 = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a} \\] for x.',
  'Euler: $e^{i\\pi} + 1 = 0$, and $a_i * b_i$ *slanted*.',
  '$$\n\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}\n$$',
  'Thus:\n\\[\nf(x)\n= x^2\n- 1\n\\]\nas shown.',
  'It costs $5 and $6, or US$7.',
]

const tables = [
  '| Name | Price |\n|:--|--:|\n| **Tea** | 2 |\n| `Milk` | 10 |',
  '| Site | Link |\n|---|---|\n| Docs | [guide](https://example.org/a_(b)) |\n| API | https://example.org/api |',
  '| 項目 | 説明 |\n|---|---|\n| **名前：**主 | 一行目<br>二行目 |',
  '| City | What there is to see in the city | How long |\n|--|--|--|\n| Rome | a *great* many ruins &amp; museums of all ages | week |',
  '| a | b |\n|---|---|\n| x \\| y | &lt;tag&gt; |',
]

const blocks = [
  '# Title\n\n## Part *one*\n\n#### Deep **heading**',
  '- one\n- two\n  - three\n    - four\n- [x] done\n- [ ] open',
  '3. third\n4. fourth\n   - inner\n\n     more text\n5. fifth',
  '> quoted *words*\n> > deeper\n>\n> - item',
  '---\n\nafter the rule',
  'Emoji 👨‍👩‍👧 🇫🇷 👍🏽 and ✅ done',
  '&copy; 2026 &nbsp;&mdash; 5 &lt; 6 &amp;&amp; 7 &gt; 3, &amp;lt; stays, &#42;literal&#42; &unknown;',
  'Tags: <b>bold</b>, <u>under</u>, <kbd>Ctrl</kbd>, line<br>break, <div>block</div> and a<b and c>d',
  '[brackets](https://en.wikipedia.org/wiki/A_(b)) <https://example.org/x?a=1&b=2> [ref][1]\n\n[1]: https://example.org/ref',
  '![a cat](https://example.org/cat.png) and [mail](mailto:a@example.org)',
  'Escapes: \\*not bold\\*, \\_, \\#1, C:\\path\\to, 1\\. and \\[brackets here\\]',
  '**never closed, *nor this, `nor code, [nor link](',
  'a ** b ** c, 2 * 3 * 4, __init__.py, ~5 ~6',
  'Mentions @everyone <@123456789012345678> <!channel> <@U0ADA00001> &lt;!here&gt;',
  '    indented code *x*\n    second',
  'Step 1\\\nStep 2  \nStep 3',
  '~~~python\nx = "```"\n~~~',
  '````md\n```js\nlet a\n```\n````',
  '1. Install:\n\n   ```bash\n   npm i\n   ```\n\n2. Run it.',
  '***both*** **bold *inner* bold** *a **b** c*',
]

export function createModelAnswers(): ModelAnswer[] {
  const random = createRandom(20_261_122)
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)]
    if (item === undefined) throw new Error('the list is empty')
    return item
  }
  const fences = Object.entries(code).map(([language, body]) => `\`\`\`${language}\n${body}\n\`\`\``)
  const prose = Object.values(sentences).flat()
  const parts = [...prose, ...fences, ...formulas, ...tables, ...blocks]
  const single = parts.map((text, index) => ({ name: `part ${index + 1}`, text }))
  const mixed = Array.from({ length: 130 }, (_, index) => ({
    name: `mixed ${index + 1}`,
    text: Array.from({ length: 2 + Math.floor(random() * 6) }, () => pick(parts)).join('\n\n'),
  }))
  const long = Array.from({ length: 20 }, (_, index) => ({
    name: `long ${index + 1}`,
    text: Array.from({ length: 60 + Math.floor(random() * 60) }, () => pick(parts)).join('\n\n'),
  }))
  const unclosed = Object.entries(code).map(([language, body]) => ({
    name: `unclosed fence ${language}`,
    text: `${pick(prose)}\n\n\`\`\`${language}\n${`${body}\n`.repeat(1 + Math.floor(random() * 90))}`,
  }))
  return [...single, ...mixed, ...long, ...unclosed, ...extremes]
}

const extremes: readonly ModelAnswer[] = [
  { name: 'many bold words', text: '**word** '.repeat(400) },
  { name: 'many code words', text: '`word`, '.repeat(400) },
  { name: 'many links', text: '[x](https://example.org) '.repeat(150) },
  { name: 'many bold lines', text: '- **name**: *value* `code`\n'.repeat(120) },
  { name: 'a long line', text: 'word '.repeat(3_000) },
  { name: 'a long word', text: 'x'.repeat(9_000) },
  { name: 'a long line of Chinese', text: '**注意：**这是一个很长的句子，'.repeat(400) },
  { name: 'many formulas', text: 'Let \\(a_1 * b_2\\) and $x_i$ be. '.repeat(120) },
  { name: 'a long table', text: `| a | b |\n|---|---|\n${'| **x1** | [y](https://example.org/y) |\n'.repeat(120)}` },
  { name: 'only white space and a formula', text: ' \n\n$$x$$\n' },
  { name: 'an almost full message with an open fence', text: `\`\`\`js\n${'x = 1\n'.repeat(332)}` },
]
