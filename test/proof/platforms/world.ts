/**
 * A daemon with several chat platforms: it can be started, killed, restarted in the same home and reconfigured.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { findRunningDaemon } from '../../../src/cli/daemon.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { type GatewayProcess, startDaemonProcess } from '../gateway-process.ts'
import { draftThreshold, type ProofModel, startProofModel } from './model.ts'
import { allChats, type Stage } from './stage.ts'
import { createTalk, type Talk } from './talk.ts'

export interface World {
  readonly home: string
  readonly stages: readonly Stage[]
  readonly model: ProofModel
  readonly talk: Talk
  /** Starts the daemon and resolves when it is ready. Throws with its log when it exited instead. */
  start(): Promise<void>
  /** Resolves when the daemon reports all platforms as connected. Throws after a timeout. */
  connected(): Promise<void>
  /** Sends SIGKILL and resolves after the exit. Throws when the daemon had exited before. */
  kill(): Promise<void>
  /** Sends SIGTERM. Throws when the exit code is not 0. */
  stop(): Promise<void>
  /** Changes the configuration of this platform, as an operator who renews its token does. */
  reconfigure(platform: string): Promise<void>
  /** The dead letters of the outbox. */
  deadLetters(): readonly { readonly id: number; readonly platform: string; readonly text: string }[]
  /** As `hermes outbox retry`. */
  retryDead(): Promise<void>
  /** The texts of the inbox dead letters after three crashes. */
  setAside(): readonly string[]
  close(keepHome: boolean): Promise<void>
}

const connectTries = 400

export async function createWorld(stages: readonly Stage[]): Promise<World> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-proof-'))
  const letters = stages.flatMap((stage) =>
    allChats(stage.chats).map((chat) => [chat.charAt(0), stage.longChars] as const),
  )
  const model = await startProofModel(new Map(letters))
  const talk = createTalk(stages)
  const rounds = new Map<string, number>()
  let daemon: GatewayProcess | undefined

  async function configure(): Promise<void> {
    const platforms = stages.map(({ platform, config }) => {
      const round = rounds.get(platform)
      return [platform, { enabled: true, ...config, ...(round === undefined ? {} : { extra: { round } }) }]
    })
    const config = {
      model: 'test',
      provider: 'openai',
      base_url: model.baseUrl,
      api_key: 'none',
      http: { port: 0 },
      streaming: { buffer_threshold: draftThreshold },
      agent: { drain_timeout: 5 },
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

  async function asked() {
    const layout = createHomeLayout(home)
    const token = () => readFileSync(layout.tokenFile, 'utf8').trim()
    const found = await findRunningDaemon({ home: layout, token, fetch })
    if (found === undefined) throw new Error('the daemon does not answer')
    return found
  }

  function deadLetters() {
    const dead = query("select id, platform, text from outbox where state = 'dead' order by id")
    return dead.map(({ id, platform, text }) => ({ id: Number(id), platform: String(platform), text: String(text) }))
  }

  async function end(signal: NodeJS.Signals, expected: NodeJS.Signals | number): Promise<void> {
    const ending = running()
    ending.signal(signal)
    const how = await ending.ended
    daemon = undefined
    if (how !== expected) throw new Error(`the daemon ended with ${how}: ${ending.log()}`)
  }

  return {
    home,
    stages,
    model,
    talk,
    async start() {
      const started = startDaemonProcess(home)
      daemon = started
      await started.ready
      if (!started.log().includes('"msg":"ready"')) throw new Error(`the daemon did not start: ${started.log()}`)
    },
    kill: () => end('SIGKILL', 'SIGKILL'),
    stop: () => end('SIGTERM', 0),
    async reconfigure(platform) {
      rounds.set(platform, (rounds.get(platform) ?? 0) + 1)
      await configure()
      running().signal('SIGHUP')
    },
    deadLetters,
    async connected() {
      for (let tries = 0; tries < connectTries; tries += 1) {
        const { report } = await asked()
        if (stages.every(({ platform }) => report.platforms[platform]?.state === 'connected')) return
        await pause(50)
      }
      throw new Error(`not all platforms are connected: ${running().log()}`)
    },
    async retryDead() {
      const found = await asked()
      for (const { id } of deadLetters()) await found.post('/api/outbox/retry', { id })
    },
    setAside: () =>
      query("select json_extract(payload, '$.text') as text from inbox where state = 'dead'").map(({ text }) =>
        String(text),
      ),
    async close(keepHome) {
      talk.close()
      daemon?.signal('SIGKILL')
      await daemon?.ended
      for (const stage of stages) await stage.close()
      await model.stop()
      if (!keepHome) await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
