/**
 * What a run of the agent needs, in memory: a journal that writes down what it is told, a watcher, and tools made of
 * plain functions.
 */
import { z } from 'zod'
import { type AgentConfig, agentConfig } from '../../src/agent/config.ts'
import type { Environment } from '../../src/agent/environments/environment.ts'
import { createProcessTable } from '../../src/agent/environments/processes.ts'
import type { AgentWatcher, Journal } from '../../src/agent/journal.ts'
import type { ToolContext, ToolMode } from '../../src/agent/tool.ts'
import type { ToolBox } from '../../src/agent/tool-batch.ts'
import { decodeArguments } from '../../src/agent/tools/support/arguments.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { ChatMessage, ToolCall } from '../../src/message/transcript.ts'

export function settingsWith(more: Partial<AgentConfig> = {}): AgentConfig {
  const unset = { provider: undefined, reasoning_effort: undefined, max_output_tokens: undefined }
  return { ...unset, ...z.object(agentConfig).parse({}), ...more }
}

export interface MemoryJournal extends Journal {
  /** `answer`, `start <id>`, `end <id> <how>` in the order they were written. */
  readonly events: readonly string[]
  /** What lies in the transcript after the answers that were written. */
  readonly messages: readonly ChatMessage[]
}

/** `begun`: calls with an effect that were started before a crash. */
export function memoryJournal(begun: readonly string[] = []): MemoryJournal {
  const events: string[] = []
  const messages: ChatMessage[] = []
  return {
    events,
    messages,
    async assistant(message) {
      events.push('answer')
      messages.push(message)
    },
    wasBegun: async ({ id }) => begun.includes(id),
    async toolStarted(call, mode) {
      events.push(`start ${call.id}`)
      return mode === 'effect' && begun.includes(call.id) ? 'unknown' : 'run'
    },
    async toolEnded(call, result, how) {
      events.push(`end ${call.id} ${how}`)
      messages.push({ role: 'tool', toolCallId: call.id, name: call.name, content: result })
    },
  }
}

export interface RecordingWatcher extends AgentWatcher {
  readonly texts: string[]
  readonly tools: string[]
  readonly steps: { iteration: number; tools: string[] }[]
}

export function recordingWatcher(): RecordingWatcher {
  const texts: string[] = []
  const tools: string[] = []
  const steps: { iteration: number; tools: string[] }[] = []
  return {
    texts,
    tools,
    steps,
    text: (full) => void texts.push(full),
    toolStarted: (call, label) => void tools.push(`begin ${call.id} ${label}`),
    toolEnded: (call, ok, summary) => void tools.push(`${ok ? 'ok' : 'failed'} ${call.id} ${summary}`),
    step: (iteration, used) => void steps.push({ iteration, tools: used.map(({ name }) => name) }),
  }
}

export type PlainTool = (call: ToolCall, context: ToolContext) => Promise<string>

export interface ToolBoxOptions {
  readonly mode?: ToolMode
  /** Whether a batch may run at the same time. */
  readonly together?: boolean
}

/** Arguments must be JSON; anything else, and any unknown name, is refused as the real tools refuse it. */
export function toolBox(
  tools: Record<string, PlainTool>,
  { mode = 'pure', together = true }: ToolBoxOptions = {},
): ToolBox {
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
        mode: args.value['effect'] === true ? 'effect' : mode,
        label: `label of ${text}`,
        given: args.value,
        run: (context) => tool({ id: context.callId, name, arguments: text }, context),
      }
    },
    presentable: (result) => result.replaceAll('secret', '***'),
    mayRunTogether: () => together,
  }
}

const nowhere: Environment = {
  kind: 'none',
  cwd: '/',
  execute: () => Promise.reject(new Error('there is nothing to run commands in')),
  cleanup: () => Promise.resolve(),
}

export function contextFor(call: ToolCall, signal: AbortSignal): ToolContext {
  return {
    sessionId: 's',
    turnId: 't',
    callId: call.id,
    signal,
    log: silentLog,
    environment: nowhere,
    processes: createProcessTable({ now: () => 0 }),
    todos: { read: () => [], write: () => undefined },
    limits: { maxResultChars: 1_000 },
  }
}
