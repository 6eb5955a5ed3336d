import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TurnAttempt, TurnEnding } from '../../../src/flows/turn/attempt.ts'
import type { TurnWrites } from '../../../src/flows/turn/journal.ts'
import type { TurnProgress } from '../../../src/flows/turn/output.ts'
import {
  endFailed,
  endInterrupted,
  endPaused,
  endStopped,
  endWaiting,
  firstStep,
} from '../../../src/flows/turn/steps.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { noUsage } from '../../../src/message/transcript.ts'
import { StopRequested, TurnInterrupted, TurnPaused } from '../../../src/sessions/running-turns.ts'
import { sampleTurn } from './sample-turn.ts'

const unused = () => assert.fail('this step uses it not')
const journal: TurnWrites = {
  nextOrd: () => 1,
  freezePrompt: unused,
  writePrompt: unused,
  storePrompt: unused,
  takeSteered: unused,
  recordAssistantMessage: unused,
  wasStarted: unused,
  recordToolStart: unused,
  recordToolResult: unused,
}
const progress: TurnProgress = {
  listener: { onText: unused, onToolStart: unused, onToolEnd: unused, onIteration: unused, onModelTrouble: unused },
  visibleText: () => 'half an ans',
  prepareInterim: unused,
  prepareReply: unused,
  showsThinking: () => false,
  hasSpoken: () => false,
  closeDraft: unused,
  publishEnd: unused,
  close: unused,
}

function attemptOf(reason?: Error): TurnAttempt {
  return {
    turn: sampleTurn(),
    journal,
    unreported: { ...noUsage, inputTokens: 7 },
    step: 'claim',
    running: {
      signal: reason === undefined ? new AbortController().signal : AbortSignal.abort(reason),
      checkpoint: unused,
      takeSteered: unused,
      protect: unused,
      finish: unused,
    },
    progress,
    log: silentLog,
  }
}

test('each step knows what those before it have found out, and the attempt names the one that runs', async () => {
  const seen: string[] = []
  const steps = firstStep
    .next({
      name: 'model',
      async run(attempt) {
        seen.push(attempt.step)
        return { model: 'small' }
      },
    })
    .next({
      name: 'prompt',
      async run(attempt, { model }) {
        seen.push(attempt.step)
        return { prompt: `You are ${model}.` }
      },
    })
  assert.deepEqual(await steps.run(attemptOf()), { model: 'small', prompt: 'You are small.' })
  assert.deepEqual(seen, ['model', 'prompt'])

  const attempt = attemptOf()
  const failing = steps.next({ name: 'tools', run: () => Promise.reject(new Error('there are none')) })
  await assert.rejects(failing.next({ name: 'answer', run: unused }).run(attempt), /there are none/)
  assert.equal(attempt.step, 'tools')
})

test('an attempt without an answer ends in the first way that applies, and else is repeated', async () => {
  let paused = 0
  const endings: readonly TurnEnding[] = [
    endStopped,
    endInterrupted,
    endPaused({
      async pause() {
        paused += 1
      },
    }),
    endWaiting({ postpone: async (_turn, error) => error === 'the provider is down' }),
    endFailed(() => null),
  ]
  const end = async (error: unknown, reason?: Error) => {
    for (const ending of endings) {
      const result = await ending.end(attemptOf(reason), error)
      if (result === undefined) continue
      if (typeof result === 'string') return [ending.name, result]
      return [ending.name, result.state, result.usage.inputTokens, result.text.split('\n')[0]]
    }
    return undefined
  }
  assert.deepEqual(await end('aborted', new StopRequested()), ['stopped', 'stopped', 7, 'half an ans'])
  assert.deepEqual(await end('aborted', new TurnInterrupted(2)), ['interrupted', 'interrupted', 7, 'half an ans'])
  assert.deepEqual(await end('aborted', new TurnPaused()), ['paused', 'postponed'])
  assert.equal(paused, 1)
  assert.deepEqual(await end('the provider is down'), ['waiting for the model', 'postponed'])
  const [name, state, usage] = (await end(new HermesError('config/invalid'))) ?? []
  assert.deepEqual([name, state, usage], ['failed', 'failed', 7])
  assert.equal(await end(new Error('the disk is full')), undefined)
})
