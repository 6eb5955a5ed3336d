/**
 * One run of the agent in memory, with a scripted model, tools that are plain functions, and optional plugins.
 */

import assert from 'node:assert/strict'
import { createAgent } from '../../src/agent/agent.ts'
import type { AgentConfig } from '../../src/agent/config.ts'
import type { AgentTurnInput } from '../../src/agent/loop/agent-turn.ts'
import type { AgentDeps } from '../../src/agent/loop/loop.ts'
import { type ApproveTool, denyAll } from '../../src/agent/loop/tool-approval.ts'
import { type AgentHooks, noopAgentHooks, type TurnInfo } from '../../src/agent/support/agent-hooks.ts'
import { callAuxiliaryModel } from '../../src/flows/models/auxiliary-model.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { ChatMessage } from '../../src/message/transcript.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { createMiddleware } from '../../src/middleware/middleware.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { type ScriptStep, scriptedProvider } from '../kit/scripted-provider.ts'
import {
  createInMemoryJournal,
  createRecordingListener,
  createTestTools,
  settingsWith,
  type TestTool,
  testToolContext,
} from './in-memory-deps.ts'

export const turnInfo: TurnInfo = {
  sessionId: 's',
  sessionKey: 'k',
  turnId: 't',
  taskId: 's',
  platform: 'telegram',
  route: 'telegram_dm',
  senderId: 'u',
  role: 'owner',
  parentSessionId: '',
  model: 'm',
  provider: 'scripted',
  baseUrl: 'http://127.0.0.1',
  apiMode: 'chat_completions',
}

export const question: ChatMessage = { role: 'user', content: 'what is in the file?' }

export interface TestAgentOptions
  extends Partial<AgentTurnInput>,
    Pick<AgentDeps, 'subagentModel' | 'runningSubagents'> {
  readonly maxIterations?: number
  readonly settings?: Partial<AgentConfig>
  readonly middleware?: Middleware
  readonly hooks?: Partial<AgentHooks>
  readonly approve?: ApproveTool
  /** Called with the number of branches into which the turn splits, and with -1 for each branch that ends. */
  readonly onFork?: (branches: number) => void
}

/** The dependencies that are the same in every run of these tests. */
export function agentDeps() {
  const clock = createManualClock()
  return {
    middleware: createMiddleware({ log: silentLog }),
    agentHooks: noopAgentHooks,
    approve: denyAll,
    clock: clock.now,
    log: silentLog,
    random: () => 1,
    fork: () => () => undefined,
    pause: (_turn: TurnInfo, ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
    pauses: clock.pendingSleeps,
    failpoint: () => undefined,
    record: async () => undefined,
  }
}

/** Only the model of the conversation is there. */
const unusedModels = {
  selection: () => assert.fail('no other model is configured'),
  create: () => assert.fail('no other model is configured'),
  main: () => assert.fail('the request names the model of the conversation'),
  fallback: async () => null,
}

export function runTestAgent(
  script: readonly ScriptStep[],
  tools: Record<string, TestTool> = {},
  options: TestAgentOptions = {},
) {
  const { maxIterations: budget, settings, middleware, hooks, approve, onFork, ...more } = options
  const { subagentModel, runningSubagents, ...given } = more
  const provider = scriptedProvider(script)
  const journal = createInMemoryJournal()
  const listener = createRecordingListener()
  const stop = new AbortController()
  const { pauses, ...deps } = agentDeps()
  const effective = () => settingsWith({ ...(budget === undefined ? {} : { max_iterations: budget }), ...settings })
  const calls = { ...deps, ...(middleware === undefined ? {} : { middleware }) }
  const agent = createAgent({
    ...calls,
    auxiliary: (task) => ({
      isConfigured: async () => false,
      complete: (request) => callAuxiliaryModel({ ...calls, ...unusedModels, settings: effective }, task, request),
    }),
    ...(approve === undefined ? {} : { approve }),
    ...(subagentModel && { subagentModel }),
    ...(runningSubagents && { runningSubagents }),
    fork: (_turn, branches) => {
      onFork?.(branches)
      return () => onFork?.(-1)
    },
    agentHooks: { ...noopAgentHooks, ...hooks },
    settings: effective,
  })
  const result = agent.runTurn({
    turn: turnInfo,
    provider,
    tools: createTestTools(tools),
    system: 'be kind',
    transcript: [question],
    turnStart: 0,
    userMessage: 'what is in the file?',
    isFirstTurn: true,
    startsSession: true,
    journal,
    listener,
    signal: stop.signal,
    toolContextFor: (of) => testToolContext(of, stop.signal),
    ...given,
  })
  return { result, provider, journal, listener, stop, pauses }
}
