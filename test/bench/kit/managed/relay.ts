/**
 * NeMo Relay for Node, which only the benchmark uses for comparison. It is installed at its first use into a separate
 * temporary directory.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chunks } from './managed-call.ts'
import {
  type Args,
  argsOf,
  type CreateVariant,
  createObserver,
  rewritten,
  times,
  tool,
  type Workload,
} from './workload.ts'

export const relayVersion = '0.9.2'
const folder = join(tmpdir(), `hermes-bench-nemo-relay-${relayVersion}`)

/** Resolves with the reason why it cannot be measured, or with undefined when it is installed. */
export async function installRelay(): Promise<string | undefined> {
  if (existsSync(join(folder, 'node_modules', 'nemo-relay-node', 'package.json'))) return undefined
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', `nemo-relay-node@${relayVersion}`]
  try {
    await promisify(execFile)('npm', args, { timeout: 120_000 })
    return undefined
  } catch (error) {
    const said = error instanceof Error ? error.message.split('\n').find((line) => /npm error|ENOENT/.test(line)) : ''
    return `not measured: npm could not install nemo-relay-node@${relayVersion}${said ? ` (${said.trim()})` : ''}`
  }
}

interface Relay {
  toolCallExecuteAsync(name: string, args: Args, work: (args: Args) => unknown): Promise<unknown>
  llmCallExecuteAsync(name: string, request: object, work: (request: object) => unknown): Promise<unknown>
  llmStreamCallExecute(
    name: string,
    request: object,
    work: (request: StreamRequest) => unknown,
    collector: (chunk: unknown) => void,
    finalizer: () => unknown,
  ): Promise<{ next(): Promise<unknown> }>
  pushStreamChunk(id: number, chunk: unknown): boolean
  endStream(id: number): void
  registerToolRequestIntercept(name: string, priority: number, breakChain: boolean, rewrite: RelayRewrite): void
  registerToolExecutionIntercept(name: string, priority: number, wrap: ToolWrap): void
  registerLlmRequestIntercept(name: string, priority: number, breakChain: boolean, rewrite: LlmRewrite): void
  registerLlmExecutionIntercept(name: string, priority: number, wrap: LlmWrap): void
  registerLlmStreamExecutionIntercept(name: string, priority: number, wrap: StreamWrap): void
  registerSubscriber(name: string, subscriber: (event: { readonly name: string }) => void): void
  flushSubscribers(): Promise<void>
}

type RelayRewrite = (name: string, args: Args) => Args
type ToolWrap = (call: { readonly args: Args }, next: (args: Args) => Promise<unknown>) => Promise<unknown>
type LlmRewrite = (call: { readonly request: LlmRequest }) => { readonly request: LlmRequest }
type LlmWrap = (request: object, next: (request: object) => Promise<unknown>) => Promise<unknown>
type StreamWrap = (
  request: object,
  next: (request: object) => Promise<AsyncIterable<unknown>>,
) => AsyncIterable<unknown>

interface LlmRequest {
  readonly headers: object
  readonly content: Args
}

interface StreamRequest {
  readonly __nemo_relay_stream_id: number
}

function load(): Relay {
  const found: unknown = createRequire(join(folder, 'package.json'))('nemo-relay-node')
  if (!isRelay(found)) throw new Error(`nemo-relay-node ${relayVersion} has an unknown API`)
  return found
}

function isRelay(found: unknown): found is Relay {
  const names = ['toolCallExecuteAsync', 'llmCallExecuteAsync', 'llmStreamCallExecute', 'registerSubscriber']
  return (
    typeof found === 'object' &&
    found !== null &&
    names.every((name) => name in found && typeof Reflect.get(found, name) === 'function')
  )
}

function createWithObserver({ observed }: Workload): Relay {
  const relay = load()
  if (observed) relay.registerSubscriber('observer', createObserver())
  return relay
}

export const relayTool: CreateVariant = (workload) => {
  const relay = createWithObserver(workload)
  times(workload.rewrites, (step) =>
    relay.registerToolRequestIntercept(`r${step}`, step, false, (_name, args) => rewritten(args, step)),
  )
  times(workload.wrappers, (step) =>
    relay.registerToolExecutionIntercept(`w${step}`, step, async ({ args }, next) => await next(args)),
  )
  const args = argsOf(workload)
  const work = async (given: Args) => ({ result: await tool(given) })
  return { call: () => relay.toolCallExecuteAsync('read_file', args, work), flushed: () => relay.flushSubscribers() }
}

export const relayModel: CreateVariant = (workload) => {
  const relay = createWithRewrites(workload)
  times(workload.wrappers, (step) =>
    relay.registerLlmExecutionIntercept(`w${step}`, step, async (request, next) => await next(request)),
  )
  const request = { headers: {}, content: argsOf(workload) }
  const work = async () => ({ text: 'word '.repeat(chunks) })
  return { call: () => relay.llmCallExecuteAsync('openai', request, work), flushed: () => relay.flushSubscribers() }
}

export const relayStream: CreateVariant = (workload) => {
  const relay = createWithRewrites(workload)
  times(workload.wrappers, (step) =>
    relay.registerLlmStreamExecutionIntercept(`w${step}`, step, async function* (request, next) {
      yield* await next(request)
    }),
  )
  const request = { headers: {}, content: argsOf(workload) }
  const work = ({ __nemo_relay_stream_id: id }: StreamRequest) => {
    for (let index = 0; index < chunks; index++) relay.pushStreamChunk(id, { text: 'word ' })
    relay.endStream(id)
  }
  const call = async () => {
    let text = ''
    const collect = () => {
      text += 'word '
    }
    const stream = await relay.llmStreamCallExecute('openai', request, work, collect, () => ({ text }))
    while ((await stream.next()) !== null);
    return text
  }
  return { call, flushed: () => relay.flushSubscribers() }
}

function createWithRewrites(workload: Workload): Relay {
  const relay = createWithObserver(workload)
  times(workload.rewrites, (step) =>
    relay.registerLlmRequestIntercept(`r${step}`, step, false, ({ request }) => ({
      request: { ...request, content: rewritten(request.content, step) },
    })),
  )
  return relay
}
