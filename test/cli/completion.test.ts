/**
 * `hermes completion`: the scripts run in the shells themselves. A shell that is not installed is a visible skip.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findProgram } from '../../src/lib/find-program.ts'
import { quoteWord } from '../../src/lib/shell-quote.ts'
import { tempHome } from '../kit/temp-home.ts'
import { assertFailed, hermes, runInProcess } from './support.ts'

function programOrSkip(t: TestContext, name: string): string | undefined {
  const program = findProgram(name, process.env['PATH'] ?? '')
  if (program === undefined) t.skip(`${name} is not installed`)
  return program
}

/** What bash offers after these words, the last of which is being typed. */
function completeInBash(bash: string, script: string, words: readonly string[]): string[] {
  const program = `${script}\nCOMP_WORDS=(hermes ${words.map(quoteWord).join(' ')})\nCOMP_CWORD=${words.length}\n_hermes\nprintf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync(bash, ['--norc', '-c', program], { encoding: 'utf8' })
  assert.equal(stderr, '')
  return stdout.split('\n').filter((line) => line !== '')
}

test('bash completes commands, options and their values, also after options of the program', async (t) => {
  const bash = programOrSkip(t, 'bash')
  if (bash === undefined) return
  const { stdout: script } = await hermes(t, ['completion', 'bash'], { home: tempHome(t) })
  const complete = (...words: string[]) => completeInBash(bash, script, words)
  assert.deepEqual(complete('gat'), ['gateway'])
  assert.ok(complete('').includes('backup'))
  assert.deepEqual(complete('sessions', 's'), ['show', 'search'])
  assert.deepEqual(complete('logs', '--le'), ['--level'])
  assert.deepEqual(complete('logs', '--level', 'w'), ['warn'])
  assert.deepEqual(complete('completion', ''), ['bash', 'zsh', 'fish'])
  // The profile has the name of a command.
  assert.deepEqual(complete('--profile', 'gateway', 'sessions', 'l'), ['list'])
  // Names of files are offered by bash itself.
  assert.deepEqual(complete('backup', '--to', ''), [])
})

test('every visible command is offered to each shell, and its script is valid', async (t) => {
  const home = tempHome(t)
  const { stdout: help } = await runInProcess(home, ['sessions', '--help'])
  const names = [...help.matchAll(/^ {2}([a-z]+)\b.* {2}/gm)].map(([, name = '']) => name)
  assert.ok(names.includes('search'), help)
  for (const shell of ['bash', 'zsh', 'fish'])
    await t.test(shell, async (inner) => {
      const { code, stdout } = await runInProcess(home, ['completion', shell])
      assert.equal(code, 0)
      for (const name of names) assert.match(stdout, new RegExp(`sessions ${name}\\b`), name)
      const program = programOrSkip(inner, shell)
      if (program === undefined) return
      const file = join(tempHome(inner), 'script')
      writeFileSync(file, stdout)
      const { status, stderr } = spawnSync(program, ['-n', file], { encoding: 'utf8' })
      assert.deepEqual([status, stderr], [0, ''])
    })
  assertFailed(await runInProcess(home, ['completion', 'powershell']), 'cli/usage')
})
