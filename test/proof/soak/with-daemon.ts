/**
 * A daemon as `npm start` runs it, with its model, its chat server and its users.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createRandom } from '../random.ts'
import { startSoakChat } from './chat-server.ts'
import { type SoakDaemon, startSoakDaemon } from './daemon.ts'
import { type SoakModel, startSoakModel } from './model.ts'
import { createPeople, type People } from './people.ts'
import { createSampler, type Sample } from './samples.ts'

export interface Soak {
  readonly daemon: SoakDaemon
  readonly model: SoakModel
  readonly people: People
  /** Memory and files of the daemon now. */
  take(): Sample
}

/** Runs `work` when the daemon is idle and has given the memory of its start back. */
export async function withSoakDaemon<T>(seed: number, work: (soak: Soak) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-soak-'))
  const notes = join(home, 'notes.txt')
  await writeFile(notes, 'A line of the notes of the user.\n'.repeat(60))
  const chat = await startSoakChat()
  const model = await startSoakModel(notes)
  let daemon: SoakDaemon | undefined
  try {
    daemon = await startSoakDaemon(home, chat.url, model.baseUrl)
    const sampler = createSampler(daemon.pid, home)
    chat.onMemory = sampler.add
    const random = createRandom(seed)
    const people = createPeople({ random, askChat: chat.ask, askApi: askApiOf(daemon) })
    await pause(8_000)
    const begun = performance.now()
    const take = () => sampler.take((performance.now() - begun) / 60_000, people.turns)
    return await work({ daemon, model, people, take })
  } finally {
    await daemon?.stop()
    await chat.close()
    await model.stop()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Users of `/v1/chat/completions`, each conversation in a session with a name. */
function askApiOf({ url, token }: SoakDaemon) {
  return async (session: string, text: string, expected: string): Promise<void> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-hermes-session-id': session,
      },
      body: JSON.stringify({ model: 'hermes', stream: true, messages: [{ role: 'user', content: text }] }),
      signal: AbortSignal.timeout(60_000),
    })
    const body = await response.text()
    const answer = [...body.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, content]) => content).join('')
    if (!answer.includes(expected)) throw new Error(`the API did not answer: ${response.status} ${body.slice(0, 200)}`)
  }
}
