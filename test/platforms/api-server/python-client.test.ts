/**
 * OpenAI's official client for Python, where `python3` has it (`pip install openai`).
 */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { secret } from '../../http/support.ts'
import { createPng } from '../../kit/pictures.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { startTestApi, type TestApi } from './support.ts'

const script = fileURLToPath(new URL('./clients/openai_client.py', import.meta.url))
const steps = [
  ...['models', 'completion', 'raw_response', 'completion_stream', 'completion_helper', 'failing_stream', 'failure'],
  ...['responses', 'response_stream', 'response_helper', 'pictures', 'refusals', 'asynchronous', 'close'],
]

function skipReason(): string | false {
  const { status } = spawnSync('python3', ['-c', 'import openai'], { stdio: 'ignore', timeout: 60_000 })
  return status === 0 ? false : 'python3 with the package openai is needed'
}

test('the official client for Python can do all that the API offers', { skip: skipReason() }, async (t) => {
  const api = await startTestApi(t, { mediaFolder: join(tempHome(t), 'media') })
  const asked: string[] = []
  void playTurns(api, asked)
  const { stdout } = await promisify(execFile)('python3', [script], {
    env: {
      PATH: process.env['PATH'],
      OPENAI_BASE_URL: `${api.url}/v1`,
      OPENAI_API_KEY: secret,
      PICTURE: `data:image/png;base64,${createPng().toString('base64')}`,
    },
    timeout: 120_000,
  })
  assert.deepEqual(stdout.trim().split('\n'), steps)
  assert.equal(asked.filter((text) => text === 'fail').length, 2, 'a failed turn is not tried again')
  // The client has closed a stream whose turn goes on.
  await api.nextStop()
  assert.equal(api.stops.length, 1)
})

/** Answers every message. Ends with the test. */
async function playTurns(api: TestApi, asked: string[]): Promise<never> {
  for (;;) {
    const turn = await api.next()
    const { text, attachments = [] } = turn.event
    asked.push(text)
    if (text === 'wait') await turn.draft('I begin')
    else if (text === 'fail') turn.end({ status: 'failed', text: 'No credit.', errorCode: 'provider/auth' })
    else {
      if (text === 'tools') await useTool(api, turn)
      turn.end({ text: `You said: ${text}${attachments.length === 0 ? '' : ` with ${attachments.length}`}` })
    }
  }
}

async function useTool({ adapter }: TestApi, turn: Awaited<ReturnType<TestApi['next']>>): Promise<void> {
  const { target, turnId } = turn
  const call = { turnId, callId: 'c1', tool: 'terminal' }
  adapter.activity?.(target, { kind: 'turn-started', turnId })
  adapter.activity?.(target, { kind: 'tool-started', ...call, label: 'ls' })
  adapter.activity?.(target, { kind: 'tool-ended', ...call, ok: true, summary: '3 files' })
  await turn.draft('You said')
}
