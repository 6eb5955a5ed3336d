/**
 * A home with prompts for `hermes batch run`, whose processes are killed.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { homeWith } from '../cli/support.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { type Daemon, startDaemon } from '../stories/daemon.ts'

export const prompts = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot']

/** A home with a model that answers `charlie` and `delta` only after `release`. */
export async function batchHome(t: TestContext, config = 'http: {port: 0}\n') {
  const released = Promise.withResolvers<void>()
  const asked: string[] = []
  const waiting = Promise.withResolvers<void>()
  const model = await startOpenAiServer({
    record: false,
    defaultReply({ lastUserText: text }) {
      asked.push(text)
      if (asked.includes('charlie') && asked.includes('delta')) waiting.resolve()
      const isHeld = text === 'charlie' || text === 'delta'
      return { text: `re ${text}`, ...(isHeld ? { gate: () => released.promise } : {}) }
    },
  })
  t.after(() => model.stop())
  const access = `terminal: {sandbox: "off"}\nprovider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: none\nagent: {max_retries: 0}\n`
  const home = homeWith(t, `${config}${access}`)
  const file = (name: string) => join(home.root, name)
  writeFileSync(file('prompts.jsonl'), prompts.map((prompt) => `${JSON.stringify({ id: prompt, prompt })}\n`).join(''))
  const words = ['batch', 'run', file('prompts.jsonl'), '--out', file('out.jsonl'), '--concurrency', '2']
  return {
    home,
    out: file('out.jsonl'),
    trajectories: file('trajectories.jsonl'),
    release: released.resolve,
    /** Both workers of the batch wait for the model. */
    untilHeld: () => waiting.promise,
    start: () => startDaemon(t, home.root, { args: [...words, '--trajectories', file('trajectories.jsonl')] }),
    /** How often the model was asked each prompt. */
    calls: () => prompts.map((prompt) => asked.filter((text) => text === prompt).length),
  }
}

export function readIds(path: string): string[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line).id).sort()
}

export async function kill(process: Daemon): Promise<void> {
  process.signal('SIGKILL')
  assert.equal(await process.exit(), 'SIGKILL')
}
