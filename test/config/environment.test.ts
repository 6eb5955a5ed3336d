/**
 * The environment variables of the process and of `.env`.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { parseDotenv } from '../../src/config/dotenv.ts'
import { homeDirectory, readEnvironment } from '../../src/config/environment.ts'
import { formatIssue } from '../../src/config/issue.ts'
import { tempHome } from '../kit/temp-home.ts'

function values(text: string): Record<string, string> {
  const { entries, issues } = parseDotenv(text)
  assert.deepEqual(issues, [])
  return Object.fromEntries([...entries].map(([name, { value }]) => [name, value]))
}

describe('.env', () => {
  const table: readonly [string, string, Record<string, string>][] = [
    ['plain lines', 'A=1\nB=two words\n', { A: '1', B: 'two words' }],
    ['blanks around', '  A = 1  \n\tB=\t2\t\n', { A: '1', B: '2' }],
    ['export', 'export A=1\nexport   B="2"\n', { A: '1', B: '2' }],
    ['comments', '# first\nA=1 # one\n  # more\nB=a#b\nC=#nothing\n', { A: '1', B: 'a#b', C: '' }],
    ['single quotes', "A='a # b \\n $x \"y\"'\nB='' # none\n", { A: 'a # b \\n $x "y"', B: '' }],
    ['double quotes', 'A="a # b\\n\\t\\"x\\" \\\\ \\$y \\z"\n', { A: 'a # b\n\t"x" \\ $y \\z' }],
    ['several lines', 'A="one\ntwo\n\nfour"\nB=\'x\ny\' # end\nC=3\n', { A: 'one\ntwo\n\nfour', B: 'x\ny', C: '3' }],
    ['Windows line ends', 'A=1\r\nB="x\r\ny"\r\n', { A: '1', B: 'x\ny' }],
    ['a byte order mark', '\uFEFFA=1\n', { A: '1' }],
    ['equal signs in the value', 'A=b=c==\n', { A: 'b=c==' }],
    ['the last of several', 'A=1\nA=2\n', { A: '2' }],
    ['nothing expanded', `A=$HOME \${B} \`id\` $(id)\n`, { A: `$HOME \${B} \`id\` $(id)` }],
    [
      'names like the prototype',
      '__proto__=x\nconstructor=y\n',
      Object.fromEntries([
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ]),
    ],
    ['an empty file', '', {}],
  ]
  for (const [what, text, expected] of table) {
    it(`reads ${what}`, () => {
      assert.deepEqual(Object.entries(values(text)), Object.entries(expected))
    })
  }

  const broken: readonly [string, string, readonly [number, string][]][] = [
    ['a line without an equal sign', 'A=1\nnonsense here\nB=2\n', [[2, 'expected NAME=value']]],
    ['a name with a dash', 'my-key=1\n', [[1, 'expected NAME=value']]],
    ['a name that begins with a digit', '1A=1\n', [[1, 'expected NAME=value']]],
    ['a quote that is not closed', 'A="x\nB=2\n', [[1, 'A: the closing " is missing']]],
    ['something behind the quote', "A='x'y\n", [[1, 'A: unexpected text after the closing quote']]],
    ['a zero byte', 'A=x\0y\n', [[1, 'A: the value contains a control character']]],
  ]
  for (const [what, text, expected] of broken) {
    it(`reports ${what} with its line and skips only that line`, () => {
      const { entries, issues } = parseDotenv(text)
      assert.deepEqual(
        issues.map(({ line, message }) => [line, message]),
        expected,
      )
      if (text.includes('B=2')) assert.equal(entries.get('B')?.value, '2')
    })
  }

  it('never shows the content of an invalid line', () => {
    const { issues } = parseDotenv("hunter2\nA=\"hunter2\nB='hunter2'hunter2\n")
    assert.equal(issues.length, 3)
    assert.ok(!JSON.stringify(issues).includes('hunter2'))
  })
})

describe('the environment', () => {
  it('prefers the process environment to the file, and does not change it', (t) => {
    const file = join(tempHome(t), '.env')
    writeFileSync(file, 'A=file\nB=file\nEMPTY=\n', { mode: 0o600 })
    const own = { A: 'process', C: 'process', B: '', UNSET: undefined }
    const environment = readEnvironment(file, own)
    assert.deepEqual(environment.values, { A: 'process', B: 'file', C: 'process' })
    assert.deepEqual(environment.process, { A: 'process', C: 'process' })
    assert.deepEqual(environment.originOf('A'), { file: 'environment' })
    assert.deepEqual(environment.originOf('B'), { file: '.env', line: 2 })
    assert.equal(environment.originOf('EMPTY'), undefined)
    assert.deepEqual(own, { A: 'process', C: 'process', B: '', UNSET: undefined })
    assert.equal(process.env['B'], undefined)
  })

  it('warns when other users can read .env, and only then', (t) => {
    const file = join(tempHome(t), '.env')
    assert.deepEqual(readEnvironment(file, {}).warnings, [])
    writeFileSync(file, 'A=1\n', { mode: 0o600 })
    assert.deepEqual(readEnvironment(file, {}).warnings, [])
    const open = join(tempHome(t), '.env')
    writeFileSync(open, 'A=1\n', { mode: 0o644 })
    assert.deepEqual(readEnvironment(open, {}).warnings.map(formatIssue), [
      `.env  is readable by other users and contains secrets (mode 644); run: chmod 600 ${open}`,
    ])
  })

  it('is the process environment when no other is given', (t) => {
    const { PATH } = readEnvironment(join(tempHome(t), '.env')).values
    assert.equal(PATH, process.env['PATH'])
  })
})

describe('the home directory', () => {
  const table: readonly [Record<string, string>, string][] = [
    [{ HOME: '/home/me' }, '/home/me/.hermes'],
    [{ HOME: '/home/me', HERMES_HOME: '/data' }, '/data'],
    [{ HOME: '/home/me', HERMES_HOME: '~/h' }, '/home/me/h'],
    [{ HOME: '/home/me', HERMES_HOME: '~' }, '/home/me'],
    [{ HOME: '/home/me', HERMES_HOME: '' }, '/home/me/.hermes'],
    [{ HERMES_HOME: 'here/h' }, resolve('here/h')],
    [{}, join(homedir(), '.hermes')],
  ]
  for (const [variables, expected] of table) {
    it(`is ${expected} for ${JSON.stringify(variables)}`, () => {
      assert.equal(homeDirectory(variables), expected)
    })
  }
})
