/**
 * The local model server in a separate process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { killProcess } from './children.ts'

export interface BenchModel {
  readonly baseUrl: string
  readonly origin: string
}

/** Ten words, which give about as many chunks. */
const reply = { text: 'Here is an answer of ten short words for you' }

export interface ModelOptions {
  /** Records the requests. */
  readonly record: boolean
  /** Replies before the default one. */
  readonly replies?: readonly object[]
}

/** Runs `work` with a model that responds at once. */
export async function withModel<T>(
  { record, replies = [] }: ModelOptions,
  work: (model: BenchModel) => Promise<T>,
): Promise<T> {
  const path = fileURLToPath(new URL('../../kit/servers/run-openai-server.ts', import.meta.url))
  const child = spawn(process.execPath, [path, JSON.stringify({ replies, defaultReply: reply, record })], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'] },
  })
  try {
    const origin = `http://127.0.0.1:${await firstLine(child)}`
    return await work({ origin, baseUrl: `${origin}/v1` })
  } finally {
    await killProcess(child)
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (piece) => resolve(String(piece).trim()))
    child.once('exit', () => reject(new Error('the model server ended')))
  })
}
