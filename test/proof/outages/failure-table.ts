/**
 * Makes model requests to a server with each kind of failure: over real HTTP, with pauses that only advance a clock.
 */
import { createServer } from 'node:http'
import { mapWithConcurrency } from '../../../src/agent/loop/tool-batch.ts'
import { createOpenAiChatProvider } from '../../../src/agent/models/openai/openai-providers.ts'
import { ModelError, ModelOutage, type Provider } from '../../../src/agent/models/provider.ts'
import { createProviderOptions } from '../../../src/agent/models/provider-options.ts'
import { requestModel } from '../../../src/agent/models/request-model.ts'
import { agentDeps, question, turnInfo } from '../../agent/run-test-agent.ts'
import { answer, type Consequence, type FailureKind, failureKinds } from './failure-kinds.ts'

export interface FailureRow {
  readonly name: string
  readonly expected: Consequence
  readonly found: Consequence
  /** Calls of a request while the failure persists. */
  readonly calls: number
  /** The kind of the error; '' when there is none. */
  readonly problem: string
}

/** One row for each kind of failure. */
export function runFailureTable(): Promise<readonly FailureRow[]> {
  return mapWithConcurrency(failureKinds, 16, runRow)
}

async function runRow(kind: FailureKind): Promise<FailureRow> {
  const server = await startFailingServer(kind)
  const provider = createOpenAiChatProvider(
    createProviderOptions({ name: 'openai', apiKey: 'k', baseUrl: server.url, idleTimeoutMs: 500, maxChars: 20_000 }),
  )
  try {
    server.failTimes(Number.POSITIVE_INFINITY)
    const persistent = await request(provider)
    const calls = server.calls()
    server.failTimes(1)
    const found = consequenceOf(await request(provider), persistent)
    return { name: kind.name, expected: kind.consequence, found, calls, problem: persistent?.kind ?? '' }
  } finally {
    await server.close()
  }
}

/** The error of a request; undefined when it was answered. */
async function request(provider: Provider): Promise<ModelError | undefined> {
  try {
    await requestModel(agentDeps(), {
      provider,
      turn: turnInfo,
      iteration: 1,
      previousCalls: 0,
      input: { model: 'm', system: '', messages: [question], tools: [] },
      signal: new AbortController().signal,
      retry: () => ({ windowMs: 2_000, maxRetries: undefined }),
      outageSince: null,
      acceptsEmpty: false,
      onText: () => undefined,
    })
    return undefined
  } catch (error) {
    if (error instanceof ModelError) return error
    throw error
  }
}

function consequenceOf(single: ModelError | undefined, persistent: ModelError | undefined): Consequence {
  if (persistent === undefined) return 'answered'
  if (single !== undefined) return 'fails'
  return persistent instanceof ModelOutage ? 'waits' : 'explained'
}

async function startFailingServer(kind: FailureKind) {
  let left = 0
  let calls = 0
  const server = createServer((incoming, response) => {
    incoming.resume()
    calls += 1
    left -= 1
    if (left >= 0) kind.fail(response)
    else answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    failTimes(times: number) {
      left = times
      calls = 0
    },
    calls: () => calls,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
