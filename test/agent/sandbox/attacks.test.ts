import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { destructive, fillIn, secretReads } from './attacks.ts'
import { canary, createVictim, sandboxSkip, type Victim } from './victim.ts'

const skip = await sandboxSkip()

/** Runs the commands one after the other in one sandbox, each in a shell of its own; returns their outputs. */
async function runAll(victim: Victim, commands: readonly string[]): Promise<string> {
  const places = { V: victim.userHome, H: victim.home, P: String(process.pid) }
  const lines = commands.map((command, index) => {
    writeFileSync(join(victim.cwd, `attack-${index}`), `${fillIn(command, places)}\n`)
    return `mkdir -p w; (cd w && timeout 10 bash ../attack-${index}) </dev/null; echo "ran ${index}"`
  })
  const { output } = await victim.run(lines.join('\n'), { maxOutputBytes: 4_000_000, timeoutMs: 120_000 })
  return output
}

describe('attacks in the sandbox', { skip }, () => {
  test('there are at least 170 destructive commands and 70 ways to a secret, each different', () => {
    assert.ok(new Set(destructive).size >= 170, String(destructive.length))
    assert.ok(new Set(secretReads).size >= 70, String(secretReads.length))
  })

  test('no destructive command changes anything outside of the working directory', async () => {
    await using victim = await createVictim()
    const before = victim.fingerprint()
    const output = await runAll(victim, destructive)
    assert.equal(output.match(/^ran \d+$/gm)?.length, destructive.length)
    assert.equal(victim.fingerprint(), before)
  })

  test('no way to a secret prints it', async () => {
    await using victim = await createVictim()
    const before = victim.fingerprint()
    // `kill -9 -1` comes last: it ends the sandbox, and nothing else.
    const output = await runAll(victim, secretReads)
    assert.equal(output.match(/^ran \d+$/gm)?.length, secretReads.length - 1)
    assert.ok(
      !output.includes(canary),
      output.split('\n').find((line) => line.includes(canary)),
    )
    assert.equal(victim.fingerprint(), before)
  })

  test('the attacks are effective without the sandbox', async () => {
    await using victim = await createVictim()
    const before = victim.fingerprint()
    const places = { V: victim.userHome, H: victim.home, P: '999999999' }
    const [first = ''] = secretReads
    const { output } = await victim.run(fillIn(first, places), { outsideSandbox: true })
    assert.ok(output.includes(canary))
    for (const command of destructive.slice(1, 5)) await victim.run(fillIn(command, places), { outsideSandbox: true })
    assert.notEqual(victim.fingerprint(), before)
  })
})
