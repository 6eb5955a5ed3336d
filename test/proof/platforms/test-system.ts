/**
 * A daemon with several chat platforms: it can be started, killed, restarted in the same home and reconfigured.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { callRoute } from '../../../src/api/client.ts'
import { retryOutbox } from '../../../src/api/routes/operation.ts'
import { findRunningDaemon } from '../../../src/cli/kit/daemon.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { type GatewayProcess, startDaemonProcess } from '../gateway-process.ts'
import { createMessageLog, type MessageLog } from './message-log.ts'
import { draftThreshold, type ProofModel, startProofModel } from './model.ts'
import { allChats, type TestPlatform } from './test-platform.ts'

export interface TestSystem {
  readonly home: string
  readonly platforms: readonly TestPlatform[]
  readonly model: ProofModel
  readonly log: MessageLog
  /** Starts the daemon and resolves when it is ready. Throws with its log when it exited instead. */
  start(): Promise<void>
  /** Starts the daemon, sends SIGKILL after `ms` whether it is ready or not, and resolves after the exit. */
  startAndKill(ms: number): Promise<void>
  /** Resolves when the daemon reports all platforms as connected. Throws after a timeout. */
  waitUntilConnected(): Promise<void>
  /** Sends SIGKILL and resolves after the exit. Throws when the daemon had exited before. */
  kill(): Promise<void>
  /** Sends SIGTERM. Throws when the exit code is not 0. */
  stop(): Promise<void>
  /** Changes the configuration of this platform, as an operator who renews its token does. */
  reconfigure(platform: string): Promise<void>
  /** The dead chatLetters of the outbox. */
  outboxDeadLetters(): readonly { readonly id: number; readonly platform: string; readonly text: string }[]
  /** Retries like `hermes outbox retry`. */
  retryDeadLetters(): Promise<void>
  /** The texts of all messages that were accepted, in order. */
  acceptedTexts(): readonly string[]
  /** The texts of the messages that wait because several crashes interrupted them, or a message before them in their chat. */
  postponedTexts(): readonly string[]
  /** The texts of the inbox dead chatLetters after three crashes. */
  inboxDeadLetters(): readonly string[]
  close(keepHome: boolean): Promise<void>
}

const connectTries = 400

export async function createTestSystem(testPlatforms: readonly TestPlatform[]): Promise<TestSystem> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-proof-'))
  const chatLetters = testPlatforms.flatMap((testPlatform) =>
    allChats(testPlatform.chats).map((chat) => [chat.charAt(0), testPlatform.longChars] as const),
  )
  const model = await startProofModel(new Map(chatLetters))
  const log = createMessageLog(testPlatforms)
  const revisions = new Map<string, number>()
  let daemon: GatewayProcess | undefined

  async function configure(): Promise<void> {
    const platforms = testPlatforms.map(({ platform, config }) => {
      const round = revisions.get(platform)
      return [platform, { enabled: true, ...config, ...(round === undefined ? {} : { extra: { round } }) }]
    })
    const config = {
      model: 'test',
      provider: 'openai',
      base_url: model.baseUrl,
      api_key: 'none',
      http: { port: 0 },
      auxiliary: { title_generation: { enabled: false } },
      // Each message gets an answer of its own.
      // During a crash loop users write more than the limit permits. What it refuses has a notice and no answer.
      display: { busy_input_mode: 'queue', busy_text_debounce_seconds: 0, busy_queue_limit: 1_000 },
      streaming: { buffer_threshold: draftThreshold },
      agent: { drain_timeout: 5 },
      terminal: { sandbox: 'off' },
      // The users are guests, because they are let in by `*`.
      roles: { guest: { tools: ['*'], group_tools: ['*'] } },
      platforms: Object.fromEntries(platforms),
    }
    await writeFile(join(home, 'config.yaml'), JSON.stringify(config), { mode: 0o600 })
  }
  await configure()

  function running(): GatewayProcess {
    if (daemon === undefined) throw new Error('the daemon does not run')
    return daemon
  }

  function query(sql: string): Record<string, unknown>[] {
    const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }

  async function connectDaemon() {
    const layout = createHomeLayout(home)
    const token = () => readFileSync(layout.tokenFile, 'utf8').trim()
    const found = await findRunningDaemon({ home: layout, token })
    if (found === undefined) throw new Error('the daemon does not answer')
    return found
  }

  function deadLetters() {
    const dead = query("select id, platform, text from outbox where state = 'dead' order by id")
    return dead.map(({ id, platform, text }) => ({ id: Number(id), platform: String(platform), text: String(text) }))
  }

  async function end(signal: NodeJS.Signals, expected: NodeJS.Signals | number): Promise<void> {
    const daemonProcess = running()
    daemonProcess.signal(signal)
    const exit = await daemonProcess.ended
    daemon = undefined
    if (exit !== expected) throw new Error(`the daemon ended with ${exit}: ${daemonProcess.log()}`)
  }

  return {
    home,
    platforms: testPlatforms,
    model,
    log,
    async start() {
      const started = startDaemonProcess(home)
      daemon = started
      await started.ready
      if (!started.log().includes('"event":"gateway.ready"'))
        throw new Error(`the daemon did not start: ${started.log()}`)
    },
    async startAndKill(ms) {
      daemon = startDaemonProcess(home)
      await pause(ms)
      await end('SIGKILL', 'SIGKILL')
    },
    kill: () => end('SIGKILL', 'SIGKILL'),
    stop: () => end('SIGTERM', 0),
    async reconfigure(platform) {
      revisions.set(platform, (revisions.get(platform) ?? 0) + 1)
      await configure()
      running().signal('SIGHUP')
    },
    outboxDeadLetters: deadLetters,
    async waitUntilConnected() {
      for (let tries = 0; tries < connectTries; tries += 1) {
        const { report } = await connectDaemon()
        if (testPlatforms.every(({ platform }) => report.platforms[platform]?.state === 'connected')) return
        await pause(50)
      }
      throw new Error(`not all platforms are connected: ${running().log()}`)
    },
    async retryDeadLetters() {
      const found = await connectDaemon()
      for (const { id } of deadLetters()) await callRoute(found, retryOutbox, { body: { id } })
    },
    acceptedTexts: () =>
      query("select json_extract(payload, '$.text') as text from inbox order by seq").map(({ text }) => String(text)),
    postponedTexts: () =>
      query(`with open as (select * from inbox where state in ('queued', 'claimed'))
        select json_extract(payload, '$.text') as text from open
        where session_key in (select session_key from open where available_at > ${Date.now()})`).map(({ text }) =>
        String(text),
      ),
    inboxDeadLetters: () =>
      query("select json_extract(payload, '$.text') as text from inbox where state = 'dead'").map(({ text }) =>
        String(text),
      ),
    async close(keepHome) {
      log.close()
      daemon?.signal('SIGKILL')
      await daemon?.ended
      for (const testPlatform of testPlatforms) await testPlatform.close()
      await model.stop()
      if (!keepHome) await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
