/**
 * Kills the gateway while scheduled jobs run, at two points one after the other: the process that recovers the first job is
 * killed while it recovers, or while it runs the second one. Registers one test for each pair.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createCronHome } from './cron-home.ts'

export type PointPair = readonly [string, string]

/** Each job answers once. */
export function testAnswers(pair: PointPair): void {
  test(`a scheduled job answers once when it is killed at ${pair.join(' and ')}`, { timeout: 120_000 }, async (t) => {
    const { chat, gateway, addJob, record, untilIdle, untilSent, missed } = await createCronHome(t)
    for (const [index, point] of pair.entries()) {
      addJob({ id: `j${index}`, ...missed() })
      gateway.start(point)
      await gateway.killed()
    }
    await gateway.restart()
    for (const index of pair.keys())
      await untilSent('the answer', (messages) => messages.some(({ text }) => text.includes(`news of job j${index}.`)))
    await untilIdle()
    await gateway.stop()
    for (const index of pair.keys()) {
      const answers = chat.messages.map(({ text }) => text).filter((text) => text.includes(`news of job j${index}.`))
      assert.ok(answers.every((text) => withoutLabel(text) === `There is news of job j${index}.`))
      // A message that may have arrived before the crash is sent again with a label.
      const unlabelled = answers.filter((text) => text === withoutLabel(text))
      assert.ok(unlabelled.length <= 1, JSON.stringify(answers))
      assert.equal(record(`j${index}`).repeat.completed, 1)
      assert.equal(record(`j${index}`).last_status, 'ok')
    }
  })
}

/** The script of each job starts at most once, and its failure is reported once. */
export function testScripts(): void {
  const points = ['cron:script', 'cron:script-ended'] as const
  test(`a script of a job does not start again when it is killed at ${points.join(' and ')}`, {
    timeout: 120_000,
  }, async (t) => {
    const { home, chat, gateway, addJob, record, rows, untilIdle, untilSent, missed } = await createCronHome(t)
    const counted = (index: number) => join(home, `counted-${index}`)
    for (const [index, point] of points.entries()) {
      writeFileSync(join(home, 'scripts', `count-${index}.sh`), `echo ran >> '${counted(index)}'\n`)
      addJob({ id: `j${index}`, script: `count-${index}.sh`, no_agent: true, ...missed() })
      gateway.start(point)
      await gateway.killed()
    }
    await gateway.restart()
    await untilSent('both reports', (messages) => messages.length >= 2)
    await untilIdle()
    await gateway.stop()
    const unlabelled = chat.messages.filter(({ text }) => text === withoutLabel(text))
    assert.ok(unlabelled.length <= 2, JSON.stringify(chat.messages))
    assert.equal(rows("select distinct key from outbox where key like 'cron:j%'").length, 2)
    const lines = (index: number) =>
      existsSync(counted(index)) ? readFileSync(counted(index), 'utf8').split('\n').length - 1 : 0
    assert.deepEqual([lines(0), lines(1)], [0, 1])
    for (const index of points.keys()) assert.equal(record(`j${index}`).last_status, 'error')
  })
}

function withoutLabel(text: string): string {
  return text.replace(/^.*May be a duplicate:\s*/, '')
}
