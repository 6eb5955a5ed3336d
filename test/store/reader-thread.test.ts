/**
 * The thread that lists and searches conversations.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createReaderThread } from '../../src/store/sqlite/reader-thread.ts'
import { createVisibleSessions } from '../../src/store/sqlite/visible-sessions.ts'
import { openStore } from '../kit/open-store.ts'
import { tempHome } from '../kit/temp-home.ts'

const scope = { sessionKey: 'fake:dm:mia' }
const goOn = () => new AbortController().signal

/** Thread ids count upwards. */
async function nextThreadId(): Promise<number> {
  const worker = new Worker('', { eval: true })
  const { threadId } = worker
  await worker.terminate()
  return threadId
}

test('many people who list their conversations at once share one thread', async (t) => {
  const { list, insights } = createVisibleSessions(openStore(t).path)
  const before = await nextThreadId()
  const lists = Array.from({ length: 20 }, () => list({ scope, limit: 5 }, goOn()))
  const { messages } = await insights({ scope: null, since: 0 }, goOn())
  assert.deepEqual(
    await Promise.all(lists),
    lists.map(() => []),
  )
  assert.equal(messages, 0)
  assert.equal((await nextThreadId()) - before - 1, 1)
})

/** Answers `{ text }` with the text, fails for `{ fails }`, and never answers anything else. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ text, fails }) => {
      if (fails) parentPort.postMessage({ problem: 'it is locked' })
      else if (text) parentPort.postMessage({ answer: text })
    })`)}`,
)

test('a read that is given up delays those behind it no longer, and a failed one fails alone', async () => {
  const { ask } = createReaderThread(script)
  const [slow, waiting] = [new AbortController(), new AbortController()]
  const asked = [
    ask({}, slow.signal),
    ask({}, waiting.signal),
    ask({ fails: true }, goOn()),
    ask({ text: 'last' }, goOn()),
  ]
  const results = Promise.allSettled(asked)
  waiting.abort(new Error('changed my mind'))
  slow.abort(new Error('the gateway is stopping'))
  const ends = (await results).map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))
  assert.deepEqual(ends, ['the gateway is stopping', 'changed my mind', 'it is locked', 'last'])
})

test('more reads than a thread can answer soon are refused', async () => {
  const { ask } = createReaderThread(script)
  const stop = new AbortController()
  const asked = Array.from({ length: 100 }, () => ask({}, stop.signal))
  const results = Promise.allSettled(asked)
  await assert.rejects(ask({ text: 'one more' }, goOn()), { code: 'store/too-many-reads' })
  stop.abort()
  await results
  assert.equal(await ask({ text: 'later' }, goOn()), 'later')
})

test('a read that SQLite refuses keeps its error code', async (t) => {
  const home = tempHome(t)
  const damaged = join(home, 'damaged.db')
  writeFileSync(damaged, 'x'.repeat(4_096))
  const lists = createVisibleSessions(damaged).list({ scope, limit: 5 }, goOn())
  await assert.rejects(lists, { code: 'store/corrupt' })
  const { ask } = createReaderThread(new URL('../../src/api/handlers/reader-thread.ts', import.meta.url))
  await assert.rejects(ask({ database: join(home, 'absent.db'), request: {} }, goOn()), { code: 'store/unavailable' })
})
