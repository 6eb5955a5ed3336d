/**
 * What a turn pays for several keys and providers: choosing a key, and the change to another key or provider beside the network.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { agentConfig } from '../../../src/agent/config.ts'
import { strategies } from '../../../src/agent/models/credentials/strategy.ts'
import { createModelCallMonitor } from '../../../src/agent/models/model-call-monitor.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { createAgentModels } from '../../../src/flows/models/agent-models.ts'
import { createModelKeys } from '../../../src/flows/models/model-keys.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { ChatMessage } from '../../../src/message/transcript.ts'
import { settingsWith } from '../../agent/in-memory-deps.ts'
import { openPool } from '../../agent/models/credentials/support.ts'
import { agentDeps } from '../../agent/run-test-agent.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'

const keyCount = 10
const messageCount = 100

async function measureKeys(options: BenchOptions): Promise<Row[]> {
  const root = mkdtempSync(join(tmpdir(), 'hermes-bench-keys-'))
  try {
    return [...measureChoice(root, options), ...(await measureSwitch(root, options))]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** `name`: of the provider. */
function writeKeys(path: string, name: string): void {
  const entries = Array.from({ length: keyCount }, (_, priority) => ({
    id: `key-${priority}`,
    label: `key ${priority}`,
    source: 'manual',
    access_token: `sk-of-the-bench-${priority}`,
    priority,
    request_count: priority % 3,
  }))
  writeFileSync(path, JSON.stringify({ version: 1, credential_pool: { [name]: entries } }), { mode: 0o600 })
}

function measureChoice(root: string, { full }: BenchOptions): Row[] {
  const path = join(root, 'choice.json')
  writeKeys(path, 'openai')
  const calls = full ? 50_000 : 10_000
  const baseline = { what: 'a look at the age of the file', value: 1_000 * cpuMs(() => statSync(path), calls) }
  return strategies.map((strategy): Row => {
    const { pool } = openPool(path, Date.now, strategy)
    const measured = 1_000 * cpuMs(() => pool.lease('openai'), calls)
    return { name: `choosing one of ${keyCount} keys, ${strategy}`, measured, unit: 'µs', bar: 20, baseline }
  })
}

/** After a warm-up of a fifth of the calls. */
function cpuMs(work: () => unknown, calls: number): number {
  for (let call = 0; call < calls / 5; call++) work()
  const before = process.cpuUsage()
  for (let call = 0; call < calls; call++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / calls
}

async function cpuMsAsync(work: () => Promise<unknown>, calls: number): Promise<number> {
  for (let call = 0; call < calls / 5; call++) await work()
  const before = process.cpuUsage()
  for (let call = 0; call < calls; call++) await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / calls
}

/** A conversation with tool calls, which each API writes in its own way. */
const messages = Array.from({ length: messageCount / 2 }, (_, at): ChatMessage[] => [
  { role: 'user', content: `Look at number ${at}, and say what you see. `.repeat(5) },
  { role: 'assistant', content: `I looked at number ${at}. `.repeat(10) },
]).flat()

async function measureSwitch(root: string, { full }: BenchOptions): Promise<Row[]> {
  const home = createHomeLayout(root)
  writeKeys(home.authFile, 'openai')
  const parsed = z.object(agentConfig).parse({
    provider: 'openai',
    model: 'first',
    fallback_providers: [{ provider: 'anthropic', model: 'other', api_key: 'sk-of-the-other-one' }],
  })
  const settings = () => settingsWith(parsed)
  const modelCalls = createModelCallMonitor({ log: silentLog })
  const models = createAgentModels({
    home,
    settings,
    environment: () => ({ values: {}, file: {}, process: {}, originOf: () => undefined, issues: [], warnings: [] }),
    modelCalls,
    auxiliaryCalls: agentDeps(),
    openModelKeys: async (selection) =>
      createModelKeys({
        path: home.authFile,
        ...{ settings, selection, modelCalls, clock: Date.now, random: () => 0, log: silentLog },
        secrets: { set: () => undefined },
        picturesFolder: home.pictures,
      }),
    log: silentLog,
  })
  const refused = new ModelError('auth', 'refused', { status: 401 })
  const input = { system: 'Be kind.', messages, tools: [] }
  const chosen = await models.model()
  const other = await models.fallback(chosen, refused)
  if (other === null) throw new Error('no other model')
  const calls = full ? 2_000 : 500
  const value = cpuMs(() => other.provider.buildRequest({ ...input, model: other.model }), calls)
  const change = async () => {
    const next = await models.fallback(await models.model(), refused)
    return next?.provider.buildRequest({ ...input, model: next.model })
  }
  const measured = await cpuMsAsync(change, calls)
  await models.close()
  const rotation = await measureRotation(home.authFile, full ? 300 : 60)
  return [
    { name: 'another key after a refusal, stored', measured: rotation, unit: 'ms', bar: 5 },
    {
      name: 'another provider after a failure',
      measured,
      unit: 'ms',
      bar: 5,
      baseline: { what: 'its request alone', value },
      note: `a conversation of ${messageCount} messages`,
    },
  ]
}

/** The refused key is usable again with the next call. */
function measureRotation(path: string, calls: number): Promise<number> {
  const { pool, state } = openPool(path, Date.now)
  const failure = { kind: 'auth', status: 401, retryAfterMs: 0.001, message: 'refused' } as const
  return cpuMsAsync(async () => {
    pool.lease('openai')?.failed(failure)
    await state.flush()
  }, calls)
}

export const keys: Figure = {
  name: 'keys',
  about: 'choosing a key, and the change to another key or provider',
  measure: measureKeys,
}
