/**
 * One run of the agent in memory: a scripted model, tools of plain functions, and whatever plugins would put around it.
 */
import { type AgentRun, createAgent } from '../../src/agent/conversation.ts'
import { noPoints } from '../../src/agent/no-points.ts'
import type { AgentPoints, TurnFacts } from '../../src/agent/points.ts'
import { type ApproveTool, denyAll } from '../../src/agent/tool-approval.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { ChatMessage } from '../../src/message/transcript.ts'
import type { Middleware } from '../../src/middleware/contract.ts'
import { createMiddleware } from '../../src/middleware/middleware.ts'
import { GuardrailRejected } from '../../src/middleware/rejected.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { type ScriptStep, scriptedProvider } from '../kit/scripted-provider.ts'
import { contextFor, memoryJournal, type PlainTool, recordingWatcher, settingsWith, toolBox } from './memory-run.ts'

export const facts: TurnFacts = {
  sessionId: 's',
  sessionKey: 'k',
  turnId: 't',
  taskId: 's',
  platform: 'telegram',
  route: 'telegram_dm',
  senderId: 'u',
  parentSessionId: '',
  model: 'm',
  provider: 'scripted',
  baseUrl: 'http://127.0.0.1',
  apiMode: 'chat_completions',
}

export const question: ChatMessage = { role: 'user', content: 'what is in the file?' }

export interface Setting extends Partial<AgentRun> {
  readonly budget?: number
  readonly middleware?: Middleware
  readonly points?: Partial<AgentPoints>
  readonly approve?: ApproveTool
}

/** The parts that are the same in every run of these tests. */
export function agentDeps() {
  const clock = createManualClock()
  return {
    middleware: createMiddleware({ log: silentLog }),
    points: noPoints,
    approve: denyAll,
    refusal: (error: unknown) => (error instanceof GuardrailRejected ? error.reason : null),
    clock: clock.now,
    log: silentLog,
    random: () => 1,
    pause: clock.pause,
    pauses: clock.pauses,
    probe: () => undefined,
  }
}

export function agentRun(
  script: readonly ScriptStep[],
  tools: Record<string, PlainTool> = {},
  { budget, middleware, points, approve, ...given }: Setting = {},
) {
  const provider = scriptedProvider(script)
  const journal = memoryJournal()
  const watcher = recordingWatcher()
  const stop = new AbortController()
  const { pauses, ...deps } = agentDeps()
  const agent = createAgent({
    ...deps,
    ...(middleware === undefined ? {} : { middleware }),
    ...(approve === undefined ? {} : { approve }),
    points: { ...noPoints, ...points },
    settings: () => settingsWith(budget === undefined ? {} : { max_iterations: budget }),
  })
  const result = agent.run({
    turn: facts,
    provider,
    tools: toolBox(tools),
    system: 'be kind',
    transcript: [question],
    turnStart: 0,
    userMessage: 'what is in the file?',
    isFirstTurn: true,
    beginsSession: true,
    journal,
    watcher,
    signal: stop.signal,
    contextFor: (of) => contextFor(of, stop.signal),
    ...given,
  })
  return { result, provider, journal, watcher, stop, pauses }
}
