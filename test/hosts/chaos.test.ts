/**
 * Handlers of every kind at once, on one host that they keep pulling down: each call has one outcome, nothing runs twice,
 * nothing is left behind.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestHost, isAlive, timeout, withoutPython } from './support.ts'

const handlerSources = {
  node: {
    skip: false as const,
    file: 'a.mjs',
    text: `
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
export async function handle(file, id, deed) {
  appendFileSync(file, id + '\\n')
  await wait(Number(id) % 7)
  if (deed === 'throw') throw new Error(id)
  if (deed === 'exit') process.exit(1)
  if (deed === 'kill') process.kill(process.pid, 'SIGKILL')
  if (deed === 'spin') while (true);
  return id
}`,
  },
  python: {
    skip: withoutPython,
    file: 'a.py',
    text: `
import os, signal, time
def handle(file, id, deed):
    with open(file, "a") as lines:
        lines.write(id + "\\n")
    time.sleep(int(id) % 7 / 1000)
    if deed == "throw":
        raise ValueError(id)
    if deed == "exit":
        os._exit(1)
    if deed == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while deed == "spin":
        pass
    return id`,
  },
}

for (const [language, { skip, file, text }] of Object.entries(handlerSources)) {
  test(`a host in ${language} that handlers keep crashing gives each call one result`, {
    skip,
    timeout,
  }, async (t) => {
    const { host, folder } = createTestHost(t, { files: { [file]: text }, limits: { graceMs: 20 } })
    const notes = join(folder, 'notes')
    const pids: number[] = []
    const outcomes = new Map<string, string>()
    const call = async (id: string, deed: string) => {
      const result = await host.call({ module: 'a', args: [notes, id, deed], deadlineMs: 400 })
      outcomes.set(id, result.ok ? 'ok' : result.failure.started ? 'failed' : 'not begun')
      if (result.ok) assert.equal(result.value, id)
    }
    const deeds = ['throw', 'exit', 'kill', 'spin', 'throw', 'exit']
    for (const [round, deed] of deeds.entries()) {
      const calls = Array.from({ length: 10 }, (_, n) => call(String(round * 10 + n), n === 7 ? deed : 'none'))
      await Promise.race(calls)
      pids.push(host.status().pid ?? 0)
      await Promise.all(calls)
    }
    await host.stop()

    const ran = readFileSync(notes, 'utf8').trim().split('\n')
    assert.deepEqual(ran.toSorted(), [...new Set(ran)].toSorted(), 'a handler ran twice')
    assert.equal(outcomes.size, 60)
    for (const [id, outcome] of outcomes) {
      if (outcome === 'ok') assert.ok(ran.includes(id), `${id} came to something without having run`)
      if (outcome === 'not begun') assert.ok(!ran.includes(id), `${id} ran and was called not begun`)
    }
    assert.equal(host.status().starts, 4)
    assert.deepEqual(
      pids.filter((pid) => pid !== 0 && isAlive(pid)),
      [],
    )
  })
}
