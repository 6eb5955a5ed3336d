/**
 * A message during an outage of many minutes, with a clock that only advances when something waits: the requests of each
 * attempt and the pauses between the attempts.
 */
import type { AgentConfig } from '../../../src/agent/config.ts'
import { ModelError, type ModelErrorKind, ModelOutage } from '../../../src/agent/models/provider.ts'
import { requestModel } from '../../../src/agent/models/request-model.ts'
import { retryRulesOf } from '../../../src/agent/models/retry-policy.ts'
import { nextAttemptAt } from '../../../src/flows/turn/model-outages.ts'
import { agentDeps, question, turnInfo } from '../../agent/run-test-agent.ts'
import { createManualClock } from '../../kit/manual-clock.ts'
import { scriptedProvider } from '../../kit/scripted-provider.ts'

export interface LongOutageResult {
  readonly isAnswered: boolean
  readonly calls: number
  /** From the message to its answer or its failure, ms. */
  readonly waitedMs: number
}

/** `kind`: transient. The outage begins with the message. */
export async function runLongOutage(
  kind: ModelErrorKind,
  outageMs: number,
  settings: AgentConfig['agent'],
  random: () => number,
): Promise<LongOutageResult> {
  const clock = createManualClock()
  const startedAt = clock.now()
  let calls = 0
  const provider = {
    ...scriptedProvider([{ chunks: ['ok'] }]),
    stream: (...args: Parameters<ReturnType<typeof scriptedProvider>['stream']>) => {
      calls += 1
      if (clock.now() < startedAt + outageMs) throw new ModelError(kind, 'not now')
      return scriptedProvider([{ chunks: ['ok'] }]).stream(...args)
    },
  }
  const { clock: _clock, pause: _pause, random: _random, ...deps } = agentDeps()
  let outageSince: number | null = null
  for (;;) {
    try {
      await requestModel(
        { ...deps, clock: clock.now, random, pause: (_turn, ms, signal) => clock.sleep(ms, signal) },
        {
          provider,
          turn: turnInfo,
          iteration: 1,
          previousCalls: 0,
          input: { model: 'm', system: '', messages: [question], tools: [] },
          signal: new AbortController().signal,
          retry: () => retryRulesOf(settings),
          outageSince,
          acceptsEmpty: false,
          onText: () => undefined,
        },
      )
      return { isAnswered: true, calls, waitedMs: clock.now() - startedAt }
    } catch (error) {
      if (!(error instanceof ModelOutage)) throw error
      const until = nextAttemptAt(error, settings, clock.now())
      if (until === null) return { isAnswered: false, calls, waitedMs: clock.now() - startedAt }
      outageSince = error.since
      clock.advance(until - clock.now())
    }
  }
}
