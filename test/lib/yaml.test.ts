/**
 * The values, positions and issues of YAML text, and the limits for hostile text.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseYaml } from '../../src/lib/yaml.ts'

/** `line:column code` of each issue. */
function issuesOf(text: string): string[] {
  return parseYaml(text, 'f.yaml').issues.map(({ file, line, column, code }) => {
    assert.equal(file, 'f.yaml')
    return `${line}:${column} ${code}`
  })
}

function plain(text: string): unknown {
  const { value, issues } = parseYaml(text, 'f.yaml')
  assert.deepEqual(issues, [])
  return value
}

describe('values', () => {
  it('plain YAML becomes plain data', () => {
    assert.deepEqual(plain('a: 1\nb: [x, true, null, 1.5]\nc: {d: "e"}\nf: |\n  two\n  lines\n'), {
      a: 1,
      b: ['x', true, null, 1.5],
      c: { d: 'e' },
      f: 'two\nlines\n',
    })
  })

  it('an empty file is null and has no issue', () => {
    for (const text of ['', '\n\n', '# only a comment\n', '---\n']) assert.equal(plain(text), null)
  })

  it('a byte order mark and Windows line endings are accepted', () => {
    assert.deepEqual(plain('\uFEFFa: 1\r\nb:\r\n  c: two\r\n'), { a: 1, b: { c: 'two' } })
  })

  it('an integer that a number cannot represent keeps all its digits', () => {
    assert.deepEqual(plain('ids: [1234567890123456789, 42, -9007199254740993]'), {
      ids: ['1234567890123456789', 42, '-9007199254740993'],
    })
  })

  it('yes, no and dates of YAML 1.1 are strings, whatever version the file declares', () => {
    assert.deepEqual(plain('%YAML 1.1\n---\na: yes\nb: 2001-12-14\nc: 0o17\n'), { a: 'yes', b: '2001-12-14', c: 15 })
  })

  it('aliases and merge keys are expanded, and a key of the mapping itself wins', () => {
    const text = 'base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\none:\n  <<: [*b, *m]\n  x: 5\ntwo: *b\n'
    assert.deepEqual(plain(text), {
      base: { x: 1, y: 2 },
      more: { y: 3, z: 4 },
      one: { x: 5, y: 2, z: 4 },
      two: { x: 1, y: 2 },
    })
  })

  it('an alias refers to the last anchor of its name before it', () => {
    assert.deepEqual(plain('- &a 1\n- *a\n- &a 2\n- *a\n'), [1, 1, 2, 2])
  })

  it('"<<" in quotes is an ordinary key', () => {
    assert.deepEqual(plain('"<<": 1'), { '<<': 1 })
  })

  it('no key changes the prototype of objects', () => {
    const { value, issues } = parseYaml('__proto__:\n  polluted: true\n', 'f.yaml')
    assert.equal(value, null)
    assert.equal(issues[0]?.code, 'prototype_key')
    assert.deepEqual(Object.keys(Object(plain('constructor: {prototype: {polluted: true}}'))), ['constructor'])
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })
})

describe('positions', () => {
  const yaml = parseYaml(
    'http:\n  host: "x"\n  port: abc\nlist:\n  - 1\n  - a: b\ncopy: &c {d: e}\nalso: *c\n',
    'f.yaml',
  )

  it('refer to the value or to its key', () => {
    assert.deepEqual(yaml.positionOf(['http', 'port']), { line: 3, column: 9 })
    assert.deepEqual(yaml.positionOf(['http', 'port'], 'key'), { line: 3, column: 3 })
    assert.deepEqual(yaml.positionOf(['list', 1, 'a']), { line: 6, column: 8 })
    assert.deepEqual(yaml.positionOf([]), { line: 1, column: 1 })
  })

  it('of a missing path are those of its nearest parent', () => {
    assert.deepEqual(yaml.positionOf(['http', 'token']), { line: 1, column: 1 })
    assert.deepEqual(yaml.positionOf(['list', 7]), { line: 4, column: 1 })
  })

  it('of an alias are those of the anchor', () => {
    assert.deepEqual(yaml.positionOf(['also', 'd']), { line: 7, column: 14 })
  })

  it('are correct after Windows line endings and a byte order mark', () => {
    const other = parseYaml('\uFEFFa: 1\r\nb:\r\n  c: two\r\n', 'f.yaml')
    assert.deepEqual(other.positionOf(['a']), { line: 1, column: 4 })
    assert.deepEqual(other.positionOf(['b', 'c']), { line: 3, column: 6 })
  })
})

describe('issues', () => {
  const table: readonly [string, string, readonly string[]][] = [
    ['a tab as indentation', 'a:\n\tb: 1\n\tc: 2\n', ['2:1 TAB_AS_INDENT', '3:1 TAB_AS_INDENT']],
    ['two keys in one line', 'a: b: c\n', ['1:4 BLOCK_AS_IMPLICIT_KEY']],
    ['a missing closing quote', 'a: 1\nb: "x\nc: 2\n', ['2:4 UNCLOSED']],
    ['a { without an end', 'a: 1\nb: { c: 1\nd: 2\ne: 3\n', ['2:4 UNCLOSED']],
    ['a [ without an end', 'a: 1\nb:\n  - [c, d\n  - e\nf: 1\n', ['3:5 UNCLOSED']],
    ['the outer { if the inner one is closed', 'a: { b: { c: 1 }\nd:\n  e: 1\n', ['1:4 UNCLOSED']],
    ['the outer [ at the end of the file', 'a: [ [1]', ['1:4 UNCLOSED']],
    ['a [ that ends with a }', 'a: { b: 1, c: [d, e }\nf: 1\n', ['1:15 UNCLOSED']],
    ['a { around the whole file without an end', '{ a: 1,\n  b: 2\n', ['1:1 UNCLOSED']],
    ['a quote inside brackets without an end', 'a: ["b, c]\nd: 1\n', ['1:5 UNCLOSED']],
    ['an error after a bracket without an end', 'a: {b: 1\nc: d: e\n', ['1:4 UNCLOSED', '2:4 BLOCK_AS_IMPLICIT_KEY']],
    ['a duplicate key', 'a: 1\nb:\n  c: 1\n  c: 2\na: 3\n', ['4:3 DUPLICATE_KEY', '5:1 DUPLICATE_KEY']],
    ['wrong indentation', 'a:\n    b: 1\n  c: 2\n', ['3:1 BAD_INDENT']],
    ['a string that begins with @', 'a: @b\n', ['1:4 BAD_SCALAR_START']],
    [
      'a tag',
      'a: !foo b\nb: !!binary aGk=\nc: !!set {d}\n',
      ['1:4 TAG_RESOLVE_FAILED', '2:4 TAG_RESOLVE_FAILED', '3:4 TAG_RESOLVE_FAILED'],
    ],
    ['an alias without an anchor', 'a: *b\n', ['1:4 alias']],
    ['an alias inside itself', 'a: &a\n  b: *a\n', ['2:6 alias']],
    ['a merge key with a number', 'a:\n  <<: 3\n', ['2:3 merge_key']],
    ['a second document', 'a: 1\n---\nb: 2\n', ['2:1 MULTIPLE_DOCS']],
    ['a list as a key', '? [a, b]\n: c\n', ['1:3 NON_STRING_KEY']],
    ['a number that is not finite', 'a: .inf\nb: .nan\n', ['1:4 TAG_RESOLVE_FAILED', '2:4 TAG_RESOLVE_FAILED']],
    ['a zero byte', 'a: 1\nb: x\0y\n', ['2:5 control_character']],
    ['an escape sequence of a terminal', 'a: \u001b[31m\n', ['1:4 control_character']],
  ]
  for (const [what, text, expected] of table) {
    it(`name ${what} with line and column`, () => {
      const found = issuesOf(text)
      assert.deepEqual(found, expected)
      assert.equal(parseYaml(text, 'f.yaml').value, null, 'a partial value is not used')
    })
  }

  it('never quote the text, which may contain a secret', () => {
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
      const found = parseYaml(`password: ${text}\n`, 'f.yaml')
        .issues.map(({ message }) => message)
        .join('\n')
      assert.notEqual(found, '', text)
      assert.ok(!found.includes('hunter2'), `${text}: ${found}`)
    }
  })

  it('are limited to fifty', () => {
    assert.equal(issuesOf(Array.from({ length: 200 }, () => 'a: 1').join('\n')).length, 50)
  })
})

describe('limits', () => {
  const levels = 'abcdefghi'.split('')
  const laughs = levels.map((name, index) => {
    const previous = levels[index - 1]
    return `${name}: &${name} [${Array(9)
      .fill(previous === undefined ? 'ha' : `*${previous}`)
      .join(', ')}]`
  })
  const table: readonly [string, string, string][] = [
    ['a billion laughs', laughs.join('\n'), '2:8 limit'],
    ['a long list that is used often', `- &a [${'0,'.repeat(5_000)}]\n${'- *a\n'.repeat(150)}`, '2:3 limit'],
    [
      'aliases that nest deeply',
      [...Array(100).keys()]
        .map((n) => `a${n}: &a${n} [*a${n - 1}]`)
        .join('\n')
        .replace('*a-1', '0'),
      '2:10 limit',
    ],
    ['too many aliases', `- &a 0\n${'- *a\n'.repeat(1_000)}`, '202:3 alias'],
    ['a million brackets', '['.repeat(1_000_000), '1:67 limit'],
    ['mappings in mappings in one line', '{a: '.repeat(200_000), '1:262 limit'],
    ['a staircase', Array.from({ length: 1_300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'), '66:67 limit'],
    ['half a million dashes', '- '.repeat(500_000), '1:132 limit'],
    ['question marks', '? '.repeat(400_000), '1:132 limit'],
    ['more than a megabyte', `a: ${'x'.repeat(1_048_576)}`, '1:1 limit'],
    ['a long string in double quotes', `a: "${'x'.repeat(100_000)}"`, '1:4 limit'],
    ['a hundred thousand entries', '- a\n'.repeat(100_000), '4001:1 limit'],
    ['a quarter of a million documents', '---\n'.repeat(250_000), '2:1 MULTIPLE_DOCS'],
  ]
  for (const [what, text, expected] of table) {
    it(`reject ${what}`, () => {
      assert.deepEqual(issuesOf(text), [expected])
    })
  }

  it('a file nested 60 levels deep is read', () => {
    let value = plain('['.repeat(60) + ']'.repeat(60))
    let depth = 0
    for (; Array.isArray(value); depth++) value = value[0]
    assert.equal(depth, 60)
  })

  it('a value of a megabyte is read', () => {
    assert.deepEqual(plain(`a: |\n${' text\n'.repeat(100_000)}`), { a: 'text\n'.repeat(100_000) })
  })
})
