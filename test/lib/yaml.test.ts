/**
 * What comes out of YAML, and what is refused before it can do harm.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseYaml } from '../../src/lib/yaml.ts'

function problemsOf(text: string): string[] {
  return parseYaml(text, 'f.yaml').issues.map(({ file, line, column, message }) => {
    assert.equal(file, 'f.yaml')
    return `${line}:${column} ${message}`
  })
}

function plain(text: string): unknown {
  const { value, issues } = parseYaml(text, 'f.yaml')
  assert.deepEqual(issues, [])
  return value
}

describe('values', () => {
  it('come out as plain data', () => {
    assert.deepEqual(plain('a: 1\nb: [x, true, null, 1.5]\nc: {d: "e"}\nf: |\n  two\n  lines\n'), {
      a: 1,
      b: ['x', true, null, 1.5],
      c: { d: 'e' },
      f: 'two\nlines\n',
    })
  })

  it('an empty file is nothing, not a problem', () => {
    for (const text of ['', '\n\n', '# only a comment\n', '---\n']) assert.equal(plain(text), null)
  })

  it('a byte order mark and Windows line ends change nothing', () => {
    assert.deepEqual(plain('\uFEFFa: 1\r\nb:\r\n  c: two\r\n'), { a: 1, b: { c: 'two' } })
  })

  it('an id that is too long for a number keeps its last digits', () => {
    assert.deepEqual(plain('ids: [1234567890123456789, 42, -9007199254740993]'), {
      ids: ['1234567890123456789', 42, '-9007199254740993'],
    })
  })

  it('yes, no and dates of old YAML stay texts, whatever version the file claims', () => {
    assert.deepEqual(plain('%YAML 1.1\n---\na: yes\nb: 2001-12-14\nc: 0o17\n'), { a: 'yes', b: '2001-12-14', c: 15 })
  })

  it('aliases and merge keys are unfolded, and what stands in the mapping itself wins', () => {
    const text = 'base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\none:\n  <<: [*b, *m]\n  x: 5\ntwo: *b\n'
    assert.deepEqual(plain(text), {
      base: { x: 1, y: 2 },
      more: { y: 3, z: 4 },
      one: { x: 5, y: 2, z: 4 },
      two: { x: 1, y: 2 },
    })
  })

  it('an alias means the last anchor of its name before it', () => {
    assert.deepEqual(plain('- &a 1\n- *a\n- &a 2\n- *a\n'), [1, 1, 2, 2])
  })

  it('"<<" in quotes is a key like any other', () => {
    assert.deepEqual(plain('"<<": 1'), { '<<': 1 })
  })

  it('no key reaches the prototype of objects', () => {
    const { value, issues } = parseYaml('__proto__:\n  polluted: true\n', 'f.yaml')
    assert.equal(value, null)
    assert.match(issues[0]?.message ?? '', /__proto__/)
    assert.deepEqual(Object.keys(Object(plain('constructor: {prototype: {polluted: true}}'))), ['constructor'])
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })
})

describe('positions', () => {
  const yaml = parseYaml(
    'http:\n  host: "x"\n  port: abc\nlist:\n  - 1\n  - a: b\ncopy: &c {d: e}\nalso: *c\n',
    'f.yaml',
  )

  it('name the value, or the key when asked for it', () => {
    assert.deepEqual(yaml.positionOf(['http', 'port']), { line: 3, column: 9 })
    assert.deepEqual(yaml.positionOf(['http', 'port'], 'key'), { line: 3, column: 3 })
    assert.deepEqual(yaml.positionOf(['list', 1, 'a']), { line: 6, column: 8 })
    assert.deepEqual(yaml.positionOf([]), { line: 1, column: 1 })
  })

  it('of something that is not there are those of what should hold it', () => {
    assert.deepEqual(yaml.positionOf(['http', 'token']), { line: 1, column: 1 })
    assert.deepEqual(yaml.positionOf(['list', 7]), { line: 4, column: 1 })
  })

  it('reach through an alias to where the text stands', () => {
    assert.deepEqual(yaml.positionOf(['also', 'd']), { line: 7, column: 14 })
  })

  it('count lines after Windows line ends and the byte order mark alike', () => {
    const other = parseYaml('\uFEFFa: 1\r\nb:\r\n  c: two\r\n', 'f.yaml')
    assert.deepEqual(other.positionOf(['a']), { line: 1, column: 4 })
    assert.deepEqual(other.positionOf(['b', 'c']), { line: 3, column: 6 })
  })
})

describe('problems', () => {
  const table: readonly [string, string, readonly RegExp[]][] = [
    ['a tab as indentation', 'a:\n\tb: 1\n\tc: 2\n', [/^2:1 a tab/, /^3:1 a tab/]],
    ['two keys in one line', 'a: b: c\n', [/^1:4 two keys in one line/]],
    ['a quote that is not closed', 'a: 1\nb: "x\n', [/^3:1 missing closing/]],
    ['a key that is there twice', 'a: 1\nb:\n  c: 1\n  c: 2\na: 3\n', [/^4:3 the key "c"/, /^5:1 the key "a"/]],
    ['indentation that does not fit', 'a:\n    b: 1\n  c: 2\n', [/^3:1/]],
    ['a text that begins with @', 'a: @b\n', [/^1:4 .*in quotes/]],
    ['a tag', 'a: !foo b\nb: !!binary aGk=\nc: !!set {d}\n', [/^1:9 tags/, /^2:13 tags/, /^3:10 tags/]],
    ['an alias without an anchor', 'a: *b\n', [/^1:4 an alias that names nothing/]],
    ['an alias inside itself', 'a: &a\n  b: *a\n', [/^2:6 an alias that contains itself/]],
    ['a merge key with a number', 'a:\n  <<: 3\n', [/^2:3 a merge key/]],
    ['a second document', 'a: 1\n---\nb: 2\n', [/^2:1 a second document/]],
    ['a list as a key', '? [a, b]\n: c\n', [/^1:3 a key must be/]],
    ['a number that is none', 'a: .inf\nb: .nan\n', [/^1:4 not a plain value/, /^2:4 not a plain value/]],
    ['a zero byte', 'a: 1\nb: x\0y\n', [/^2:5 a control character/]],
    ['an escape sequence of a terminal', 'a: \u001b[31m\n', [/^1:4 a control character/]],
  ]
  for (const [what, text, expected] of table) {
    it(`names ${what} with line and column`, () => {
      const found = problemsOf(text)
      assert.equal(found.length, expected.length, found.join('\n'))
      expected.forEach((pattern, index) => {
        assert.match(found[index] ?? '', pattern)
      })
      assert.equal(parseYaml(text, 'f.yaml').value, null, 'nothing half-read is used')
    })
  }

  it('never quote the text, which may hold a secret', () => {
    const texts = [
      '*hunter2',
      '!hunter2 x',
      '@hunter2',
      '"\\qhunter2"',
      ']hunter2',
      '&hunter2 *hunter2',
      '{hunter2',
      '>hunter2',
      '%hunter2',
    ]
    for (const text of texts) {
      const found = problemsOf(`password: ${text}\n`).join('\n')
      assert.notEqual(found, '', text)
      assert.ok(!found.includes('hunter2'), `${text}: ${found}`)
    }
  })

  it('stop at fifty', () => {
    assert.equal(problemsOf(Array.from({ length: 200 }, () => 'a: 1').join('\n')).length, 50)
  })
})

describe('bombs', () => {
  const levels = 'abcdefghi'.split('')
  const laughs = levels.map((name, index) => {
    const previous = levels[index - 1]
    return `${name}: &${name} [${Array(9)
      .fill(previous === undefined ? 'ha' : `*${previous}`)
      .join(', ')}]`
  })
  const table: readonly [string, string, RegExp][] = [
    ['a billion laughs', laughs.join('\n'), /aliases unfold into too many values/],
    ['a million brackets', '['.repeat(1_000_000), /nested deeper than 64/],
    ['mappings in mappings in one line', '{a: '.repeat(200_000), /nested deeper than 64/],
    [
      'a staircase',
      Array.from({ length: 1_300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
      /nested deeper than 64/,
    ],
    ['half a million dashes', '- '.repeat(500_000), /nested deeper than 64/],
    ['question marks', '? '.repeat(400_000), /nested deeper than 64/],
    ['more than a megabyte', `a: ${'x'.repeat(1_048_576)}`, /larger than/],
    ['a hundred thousand entries', '- a\n'.repeat(100_000), /too many parts/],
    ['a quarter of a million documents', '---\n'.repeat(250_000), /second document/],
  ]
  for (const [what, text, expected] of table) {
    it(`refuses ${what}`, () => {
      assert.match(problemsOf(text).join('\n'), expected)
    })
  }

  it('a file nested 60 levels deep is still read', () => {
    let value = plain('['.repeat(60) + ']'.repeat(60))
    let depth = 0
    for (; Array.isArray(value); depth++) value = value[0]
    assert.equal(depth, 60)
  })

  it('a megabyte of text in one value is still read', () => {
    assert.deepEqual(plain(`a: |\n${' text\n'.repeat(100_000)}`), { a: 'text\n'.repeat(100_000) })
  })
})
