// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are shell commands
/**
 * Properties of the command policy that hold for any text. The seed is fixed, so that a failure can be reproduced.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCommandPolicy } from '../../../src/agent/command-policy/policy.ts'
import { allowed, forbidden, needsApproval } from './commands.ts'

const seed = 20_261_122
const policy = createCommandPolicy({
  home: '/home/me/.hermes',
  userHome: '/home/me',
  settings: () => ({ approvals: { deny: ['denied *x*y*z*'] } }),
})
const evaluate = (command: string) => policy.evaluate(command, { cwd: '/home/me/project' })
const decisionOf = (command: string) => evaluate(command).decision

const knownCommands = [...Object.values(forbidden).flat(), ...Object.values(needsApproval).flat(), ...allowed].filter(
  (command) => !/^\s*(?:#|$)/.test(command),
)
const knownCommand = fc.constantFrom(...knownCommands)
/** Commands on one line without syntax: their words can be rewritten one by one. */
const plainCommand = fc.constantFrom(...knownCommands.filter((command) => /^[\w ./-]+$/.test(command)))
const fragment = fc.constantFrom(
  ...['rm', '-rf', '/', '~', 'sudo', 'env', 'xargs', 'bash', '-c', 'eval', 'cd', 'echo', 'cat', 'x=1', '$x', '"$x"'],
  ...['${x:-/}', '$(', ')', '`', '"', "'", '\\', '{a,b}', '{', '}', '(', '((', '))', '[[', ']]', '*', '?', '[a-z]'],
  ...[
    '|',
    '||',
    '&&',
    '&',
    ';',
    '\n',
    '>',
    '<',
    '<<E',
    'E',
    '<(',
    'if',
    'then',
    'fi',
    'for',
    'in',
    'do',
    'done',
    'f()',
  ],
  ...[
    'case',
    'esac',
    'function',
    '!',
    '#',
    '\0',
    '\u{1f4a5}',
    '\ud800',
    '/dev/sda',
    '/etc/passwd',
    '.env',
    '/proc/self',
  ],
)

test('any text gets a decision and none makes the policy throw', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join(' ')),
    fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join('')),
    fc.tuple(knownCommand, fc.nat(200)).map(([command, length]) => command.slice(0, length)),
  )
  fc.assert(
    fc.property(text, (command) => {
      assert.ok(['allow', 'needs-approval', 'forbidden'].includes(decisionOf(command)))
    }),
    { seed, numRuns: 150 },
  )
})

test('the same command always gets the same decision', () => {
  fc.assert(
    fc.property(knownCommand, (command) => {
      assert.deepEqual(evaluate(command), evaluate(command))
    }),
    { seed },
  )
})

test('harmless text around a command does not change the decision', () => {
  const rewritings = [
    (command: string) => `true; ${command}`,
    (command: string) => `true && ${command}`,
    (command: string) => `  \t${command}`,
    (command: string) => `\n\n${command}\n`,
    (command: string) => `: a comment follows # nothing\n${command}`,
    (command: string) => `echo done; ${command}`,
    (command: string) => `if true; then\n${command}\nfi`,
    (command: string) => `(\n${command}\n)`,
  ]
  fc.assert(
    fc.property(knownCommand, fc.constantFrom(...rewritings), (command, rewrite) => {
      assert.equal(decisionOf(rewrite(command)), decisionOf(command), rewrite(command))
    }),
    { seed, numRuns: 150 },
  )
})

test('quoting plain words and adding spaces does not change the decision or the rule', () => {
  const writeWord = [
    (word: string) => word,
    (word: string) => `'${word}'`,
    (word: string) => `"${word}"`,
    (word: string) => `${word.slice(0, 1)}''${word.slice(1)}`,
    (word: string) => `\\${word}`,
    (word: string) => `$'${word}'`,
  ]
  const spelling = fc.tuple(
    plainCommand,
    fc.infiniteStream(fc.constantFrom(...writeWord)),
    fc.constantFrom(' ', '  ', '\t', ' \\\n'),
  )
  fc.assert(
    fc.property(spelling, ([command, spellings, space]) => {
      const words = command.trim().split(/ +/)
      const rewritten = words.map((word) => spellings.next().value(word)).join(space)
      assert.deepEqual(evaluate(rewritten), evaluate(command), rewritten)
    }),
    { seed, numRuns: 150 },
  )
})

test('a forbidden command stays forbidden next to any other command', () => {
  const dangerous = fc.constantFrom(...Object.values(forbidden).flat())
  fc.assert(
    fc.property(dangerous, knownCommand, (command, other) => {
      fc.pre(decisionOf(`${other}\n:`) === decisionOf(other))
      assert.equal(decisionOf(`${command}\n${other}`), 'forbidden', `${command}\n${other}`)
    }),
    { seed, numRuns: 100 },
  )
})

/** Texts below the size limit that took minutes before the work was bounded, or would without a limit. */
const expensive: Readonly<Record<string, string>> = {
  'a long script evaluated many times': `v='#${'x'.repeat(120_000)}'; ${'eval "$v";'.repeat(12_000)}`,
  'a command name with many words': `a='${'x '.repeat(50_000)}'; $a`,
  'a long variable used many times': `a='${'x '.repeat(50_000)}'; ${': $a;'.repeat(25_000)}`,
  'a variable with many values as the name': `${'a=y;'.repeat(63)} ${'$a b c d e f;'.repeat(10_000)}`,
  'variables that double': `v0=x; ${Array.from({ length: 30 }, (_, n) => `v${n + 1}=$v${n}$v${n}`).join('; ')}; rm $v30`,
  'scripts that run each other': `x='bash -c "$y"'; y='bash -c "$x"'; ${'bash -c "$x";'.repeat(10_000)}`,
  'many braces': `echo ${'{a,b}'.repeat(40_000)}`,
  'many patterns in one word': `rm ${'/*'.repeat(50_000)}`,
  'a deny pattern that almost matches': `denied ${'x'.repeat(60_000)}${'y'.repeat(60_000)}`,
  'a command after many unknown words': `env ${'$a '.repeat(80_000)} ls`,
  'deep nesting': `${'$('.repeat(5_000)}x${')'.repeat(5_000)}`,
}

for (const [description, command] of Object.entries(expensive)) {
  test(`the work is bounded for ${description}`, { timeout: 30_000 }, () => {
    assert.ok(command.length < 256 * 1024)
    const start = performance.now()
    evaluate(command)
    // Usually far below one second; the limit leaves room for a loaded machine.
    assert.ok(performance.now() - start < 20_000)
  })
}

test('a command of any size cannot hide a forbidden one in its own words', () => {
  for (const command of [`rm -rf / ${'x '.repeat(50_000)}`, `sudo env rm -rf / ${'x '.repeat(50_000)}`])
    assert.equal(decisionOf(command), 'forbidden')
})
