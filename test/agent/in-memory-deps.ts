/**
 * The dependencies of an agent run, in memory: a journal that records its calls, a progress listener, and tools that
 * are
 * plain functions.
 */

import { z } from 'zod'
import { type AgentConfig, agentConfig } from '../../src/agent/config.ts'
import type { Environment } from '../../src/agent/environments/environment.ts'
import { createProcessTable } from '../../src/agent/environments/session-resources.ts'
import type { AgentTools } from '../../src/agent/loop/agent-tools.ts'
import type { Journal, ProgressListener } from '../../src/agent/loop/journal.ts'
import type { ModelTrouble } from '../../src/agent/models/request-model.ts'
import { decodeArguments } from '../../src/agent/support/parse-arguments.ts'
import { summarizeResult } from '../../src/agent/support/result-json.ts'
import { builtInTools } from '../../src/agent/tools/built-in-tools.ts'
import type { ToolContext } from '../../src/agent/tools/tool.ts'
import { brand } from '../../src/lib/ids.ts'
import type { SessionId, TurnId } from '../../src/message/ids.ts'
import type { ChatMessage, ToolCall, ToolMode } from '../../src/message/transcript.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { noFiles } from './environments/no-files.ts'

export function settingsWith(more: Partial<AgentConfig> = {}): AgentConfig {
  const unset = { provider: undefined, reasoning_effort: undefined, max_output_tokens: undefined, api_mode: undefined }
  return { ...unset, ...z.object(agentConfig).parse({}), ...more }
}

export interface InMemoryJournal extends Journal {
  /** `answer`, `start <id>`, `end <id> <how>` in the order in which they were written. */
  readonly events: readonly string[]
  /** The content of the transcript after the responses that were written. */
  readonly messages: readonly ChatMessage[]
}

/** `begun`: calls with an effect that were started before a crash. */
export function createInMemoryJournal(begun: readonly string[] = []): InMemoryJournal {
  const events: string[] = []
  const messages: ChatMessage[] = []
  return {
    events,
    messages,
    async recordAssistantMessage(message) {
      events.push('answer')
      messages.push(message)
    },
    wasStarted: async ({ id }) => begun.includes(id),
    async recordToolStart(call, mode) {
      events.push(`start ${call.id}`)
      return mode === 'effect' && begun.includes(call.id) ? 'unknown' : 'run'
    },
    async recordToolResult(call, result, how) {
      events.push(`end ${call.id} ${how}`)
      messages.push({ role: 'tool', toolCallId: call.id, name: call.name, content: result })
    },
  }
}

const noTrouble: ModelTrouble = { failed: () => undefined, recovered: () => undefined }

export interface RecordingListener extends ProgressListener {
  readonly texts: string[]
  /** Whether the text of the same position was provisional. */
  readonly provisional: boolean[]
  readonly tools: string[]
  readonly steps: { iteration: number; tools: string[] }[]
}

export function createRecordingListener(): RecordingListener {
  const texts: string[] = []
  const provisional: boolean[] = []
  const tools: string[] = []
  const steps: { iteration: number; tools: string[] }[] = []
  return {
    texts,
    provisional,
    tools,
    steps,
    onText(full, isProvisional) {
      texts.push(full)
      provisional.push(isProvisional)
    },
    onModelTrouble: () => noTrouble,
    onToolStart: (call, label) => void tools.push(`begin ${call.id} ${label}`),
    onToolEnd: (call, ok, summary) => void tools.push(`${ok ? 'ok' : 'failed'} ${call.id} ${summary}`),
    onIteration: (iteration, used) => void steps.push({ iteration, tools: used.map(({ name }) => name) }),
  }
}

export type TestTool = (call: ToolCall, context: ToolContext) => Promise<string>

export interface TestToolsOptions {
  readonly mode?: ToolMode
  /** Whether a batch may run in parallel. */
  readonly parallel?: boolean
}

/** Arguments must be JSON. Other arguments and unknown names are rejected as by the real tools. */
export function createTestTools(
  tools: Record<string, TestTool>,
  { mode = 'pure', parallel: together = true }: TestToolsOptions = {},
): AgentTools {
  return {
    schemas: () => Object.keys(tools).map((name) => ({ name, description: '', parameters: {} })),
    prepare({ name, arguments: given }) {
      const tool = tools[name]
      if (tool === undefined) return { kind: 'invalid', error: `there is no tool ${name}` }
      const args = typeof given === 'string' ? decodeArguments(name, given) : { ok: true as const, value: given }
      if (!args.ok) return { kind: 'invalid', error: `the arguments of ${name} are not JSON` }
      if (args.value['wrong'] !== undefined) return { kind: 'invalid', error: `${name} has no argument wrong` }
      const text = JSON.stringify(args.value)
      return {
        kind: 'ready',
        summarize: summarizeResult,
        mode: args.value['effect'] === true ? 'effect' : mode,
        label: `label of ${text}`,
        jsonArguments: args.value,
        run: (context) => tool({ id: context.callId, name, arguments: text }, context),
      }
    },
    // `web_look` belongs to the toolset `web`, `look` to `file`.
    factsOf: (name) =>
      name in tools ? { ...builtInTools.get(name), name, toolset: /^(.+?)_/.exec(name)?.[1] ?? 'file' } : undefined,
    sanitizeForModel: (result) => result.replaceAll('secret', '***'),
    canRunInParallel: () => together,
  }
}

const noEnvironment: Environment = {
  kind: 'none',
  cwd: '/',
  files: noFiles,
  execute: () => Promise.reject(new Error('there is nothing to run commands in')),
  cleanup: () => Promise.resolve(),
}

export function testToolContext(call: ToolCall, signal: AbortSignal): ToolContext {
  return {
    sessionId: 's',
    turnId: 't',
    callId: call.id,
    signal,
    turn: { sessionId: brand<SessionId>('s'), id: brand<TurnId>('t'), transcript: [], authority: ownerAuthority },
    environment: noEnvironment,
    session: {
      processes: createProcessTable({ now: () => 0 }),
      todos: { read: () => [], write: () => undefined },
    },
    conversation: { attachments: async () => [], pictures: async () => [] },
    limits: { maxResultChars: 1_000 },
  }
}
