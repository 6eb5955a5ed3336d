/**
 * Builds the system prompt of a new session and freezes it with the session.
 */
import { buildSystemPrompt } from '../agent/system-prompt.ts'
import type { PluginRegistries } from '../app/compose-plugins.ts'
import type { GatewayShapes } from '../app/config.ts'
import type { Config } from '../config/load.ts'
import { messageOf } from '../lib/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import { freezePrompt } from '../sessions/transcript.ts'
import type { Store } from '../store/store.ts'
import type { AccountDirectory } from './account-directory.ts'
import type { AgentServices } from './agent-services.ts'
import type { Turn } from './turn/journal.ts'

export interface SessionPromptDeps {
  readonly home: HomeLayout
  readonly store: Store
  readonly config: Config<GatewayShapes>
  readonly accountDirectory: AccountDirectory
  readonly agentServices: AgentServices
  readonly log: Logger
  readonly clock: () => number
  /** What plugins add. */
  readonly plugins: Pick<PluginRegistries, 'memory' | 'sections'>
  /** Whether the platform to which an answer goes can send files. */
  sendsFiles(target: Pick<Target, 'platform' | 'account'>): boolean
}

/** Resolves with the prompt that is on disk. Rejects `store/…`. */
export function createPromptFreezer(deps: SessionPromptDeps): (turn: Turn) => Promise<string> {
  const { store, accountDirectory, agentServices, plugins, clock } = deps
  return async ({ sessionId, event: { source, seed, task } }) => {
    const basePrompt = buildSystemPrompt({
      persona: readPersona(deps),
      instructions: seed?.instructions ?? '',
      platform: accountDirectory.platform(source.platform)?.label ?? source.platform,
      chatName: source.chatType === 'dm' ? '' : (source.chatName ?? ''),
      background: task !== undefined,
      shared: accountDirectory.isShared(source),
      cwd: agentServices.cwd(),
      hasTools: (await agentServices.tools(sessionId)).schemas().length > 0,
      sendsFiles: deps.sendsFiles(task?.deliver ?? source),
      today: new Date(clock()).toISOString().slice(0, 10),
    })
    const { platform, userId = '' } = source
    const pluginSections = await Promise.all([
      // A task in the background belongs to nobody whom a memory could know.
      task === undefined ? plugins.memory.promptBlock({ sessionId, platform, userId }) : '',
      plugins.sections.render({ sessionId, platform }),
    ])
    const text = [basePrompt, ...pluginSections].filter((part) => part !== '').join('\n\n')
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
