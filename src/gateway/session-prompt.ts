/**
 * Builds the system prompt of a new session and freezes it with the session.
 */
import { buildSystemPrompt } from '../agent/prompt.ts'
import type { Config } from '../config/load.ts'
import { messageOf } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import { freezePrompt } from '../sessions/transcript.ts'
import type { Store } from '../store/store.ts'
import type { Turn } from '../turn/journal.ts'
import type { AgentServices } from './agent-services.ts'
import type { GatewayShapes } from './config.ts'
import type { People } from './people.ts'
import type { PluginGround } from './plugins.ts'

export interface SessionPromptDeps {
  readonly home: HomeLayout
  readonly store: Store
  readonly config: Config<GatewayShapes>
  readonly people: People
  readonly agents: AgentServices
  readonly log: Logger
  readonly clock: () => number
  /** What plugins add. */
  readonly plugins: Pick<PluginGround, 'memory' | 'sections'>
  /** Whether the platform to which an answer goes can send files. */
  sendsFiles(target: Pick<Target, 'platform' | 'account'>): boolean
}

/** Resolves with the prompt that is on disk. Rejects `store/…`. */
export function createPromptFreezer(deps: SessionPromptDeps): (turn: Turn) => Promise<string> {
  const { store, people, agents, plugins, clock } = deps
  return async ({ sessionId, event: { source, seed, task } }) => {
    const own = buildSystemPrompt({
      persona: readPersona(deps),
      instructions: seed?.instructions ?? '',
      platform: people.platform(source.platform)?.label ?? source.platform,
      chatName: source.chatType === 'dm' ? '' : (source.chatName ?? ''),
      background: task !== undefined,
      shared: people.isShared(source),
      cwd: agents.cwd(),
      hasTools: (await agents.tools(sessionId)).schemas().length > 0,
      sendsFiles: deps.sendsFiles(task?.deliver ?? source),
      today: new Date(clock()).toISOString().slice(0, 10),
    })
    const { platform, userId = '' } = source
    const added = await Promise.all([
      // A task in the background belongs to nobody whom a memory could know.
      task === undefined ? plugins.memory.promptBlock({ sessionId, platform, userId }) : '',
      plugins.sections.render({ sessionId, platform }),
    ])
    const text = [own, ...added].filter((part) => part !== '').join('\n\n')
    await store.run(() => freezePrompt(sessionId, text))
    return text
  }
}

/** The persona file is the owner's: what cannot be read is said in the log, and the plain identity takes its place. */
function readPersona({ home, config, log }: SessionPromptDeps): string {
  const name = config.current().personality
  try {
    return readTextIfExists(name === 'SOUL.md' ? home.soulFile : `${home.root}/${name}`, 65_536) ?? ''
  } catch (error) {
    log.warn({ file: name, error }, `the persona file cannot be used: ${messageOf(error)}`)
    return ''
  }
}
