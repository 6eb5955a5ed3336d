/**
 * Opens the skills. Their code is imported with the first session, message or menu that needs them.
 */

import { fileURLToPath } from 'node:url'
import type { Skill, SkillProblem } from '../../agent/skills/skill.ts'
import type { Skills, SkillsConfig } from '../../agent/skills/skills.ts'
import type { CustomToolsets } from '../../agent/toolsets/select-tools.ts'
import type { CommandRegistry } from '../../commands/registry.ts'
import type { Environment } from '../../config/environment.ts'
import { findSecrets } from '../../config/secrets.ts'
import { lazy } from '../../lib/cache.ts'
import { asRecord } from '../../lib/json.ts'
import type { PlatformCatalogue } from '../../platforms/registry.ts'
import type { PluginSkills } from '../../plugins/plugin-skills.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { PromptFacts } from '../prompt/session-prompt.ts'
import type { MenuEntry } from './skill-commands.ts'

/** Skills that ship with the gateway. */
export const bundledSkillsDirectory = fileURLToPath(new URL('../../../skills', import.meta.url))

export interface SkillAccess {
  load(): Promise<Skills>
  /** The text of skills for the model. Rejects with system errors. */
  read(names: readonly string[]): Promise<string>
  /** The layer of a new session; '' when the skills cannot be read. Never rejects. */
  index(facts: PromptFacts): Promise<string>
  /** Reads the skills for `menu`. Never rejects. */
  readMenu(): Promise<readonly MenuEntry[]>
  /** The skills as commands, as `readMenu` found them last. */
  menu(): readonly MenuEntry[]
  /** Called when other skills than before were found. Replaces the listener. */
  followMenu(listener: () => void): void
  /** What is wrong with skills that are left out, for the owner. */
  problems(): readonly string[]
}

const maxProblems = 10

interface SkillGateway extends Runtime {
  readonly settings: () => SkillsConfig & { readonly custom_toolsets: CustomToolsets }
  readonly config: { environment(): Environment }
  readonly platforms: { readonly catalogue: PlatformCatalogue }
}

export function createSkillAccess(
  { home, settings, config, platforms, log, failpoint }: SkillGateway,
  commands: Pick<CommandRegistry, 'resolve'>,
  pluginSkills: Pick<PluginSkills, 'list'>,
): SkillAccess {
  let problems: readonly SkillProblem[] = []
  let menu: readonly MenuEntry[] = []
  /** What the last look at the files found. */
  let listed: string | undefined
  let onMenuChange: () => void = () => undefined

  const load = lazy(() =>
    import('../../agent/skills/skills.ts').then(({ createSkills }) =>
      createSkills({
        root: home.skills,
        home: home.root,
        bundled: bundledSkillsDirectory,
        settings,
        environment: () => config.environment().values,
        withheld: withheldVariables(platforms.catalogue),
        credentials: () => credentialsOf(settings(), config.environment().values),
        pluginSkills: pluginSkills.list,
        onListed(listing) {
          problems = listing.problems
          const inMenu = menuTextOf(listing.skills)
          const isChanged = listed !== undefined && listed !== inMenu
          listed = inMenu
          if (isChanged) onMenuChange()
        },
        log,
        failpoint,
      }),
    ),
  )

  return {
    load,
    read: async (names) => (await load()).expand(names.map((name) => `/${name}`).join(' ')),
    async index({ toolNames, toolsets }) {
      try {
        const skills = await load()
        return await skills.indexFor({
          toolNames: new Set(toolNames),
          toolsets: await toolsets(),
          system: process.platform,
        })
      } catch (error) {
        log.error({ event: 'skill.index_failed', err: error }, 'a conversation begins without its skills')
        return ''
      }
    },
    async readMenu() {
      try {
        const [skills, { listSkillCommands }] = await Promise.all([load(), import('./skill-commands.ts')])
        menu = await listSkillCommands(skills, (name) => commands.resolve(name) !== undefined)
      } catch (error) {
        log.error({ event: 'skill.menu_failed', err: error }, 'the skills are missing in the menus of commands')
      }
      return menu
    },
    menu: () => menu,
    followMenu(listener) {
      onMenuChange = listener
    },
    problems: () =>
      problems
        .filter(({ isLeftOut }) => isLeftOut)
        .slice(0, maxProblems)
        .map(({ path, message }) => `skill ${path}: ${message}`),
  }
}

/** Equal texts give equal menus. */
function menuTextOf(skills: readonly Skill[]): string {
  return JSON.stringify(skills.map(({ name, origin, description }) => [name, origin, description]))
}

/** The secrets of the configuration, without those that are meant for skills and for commands. */
export function credentialsOf(
  settings: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const { skills: _skills, terminal: _terminal, ...otherSettings } = settings
  const keys = keyVariablesIn(otherSettings).map((name) => environment[name] ?? '')
  return [...findSecrets(otherSettings), ...keys].filter((secret) => secret !== '')
}

/** The variables that `key_env` names, at any depth. */
function keyVariablesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keyVariablesIn)
  return Object.entries(asRecord(value)).flatMap(([key, inner]) =>
    key === 'key_env' && typeof inner === 'string' ? [inner] : keyVariablesIn(inner),
  )
}

/** The variables of the credentials of the platforms. */
export function withheldVariables({ platforms }: PlatformCatalogue): string[] {
  return platforms.flatMap((platform) => platform.environment.map(({ variable }) => variable))
}
