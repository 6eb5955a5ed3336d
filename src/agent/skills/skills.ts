/**
 * The skills of a gateway: what the prompt, the tools, the commands and the terminal need of them. Loaded with the first session.
 */
import { isAbsolute, join, resolve } from 'node:path'
import type { ConfigOf } from '../../config/section.ts'
import { createMemo } from '../../lib/cache.ts'
import { asRecord } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import { createWarnOnce } from '../../lib/warn-once.ts'
import type { Role } from '../../message/authority.ts'
import { createSkillCatalog, folderOf, type PluginSkill, type SkillRoot } from './catalog.ts'
import { changeApproval } from './change-approval.ts'
import type { skillsConfig } from './config.ts'
import { fitsSystem, formatSkillIndex, isApplicable, type SkillFacts } from './index-layer.ts'
import { formatLoadedSkills, type LoadedSkill, parseInvocation } from './invocation.ts'
import { createSkillWriter, type SkillChange, type SkillChangeResult } from './manage-skill.ts'
import { type Skill, type SkillListing, skillFile, toHeadName, toPathName, toTypedName } from './skill.ts'
import { createSkillVariables, type SkillConversation, type SkillVariables } from './variables.ts'
import { readInstructions } from './view-skill.ts'

export type SkillsConfig = ConfigOf<typeof skillsConfig>

export interface SkillsDeps {
  /** `<home>/skills` */
  readonly root: string
  /** `$HERMES_HOME` */
  readonly home: string
  /** The folder of the skills that ship with the gateway. */
  readonly bundled: string
  settings(): SkillsConfig
  pluginSkills(): readonly PluginSkill[]
  /** The environment of the gateway, with .env. */
  environment(): Readonly<Record<string, string | undefined>>
  /** Variables that no command may see, whatever a skill declares. */
  readonly withheld: readonly string[]
  /** The secrets in the configuration of the gateway. No variable with one of these values is passed on. */
  credentials(): readonly string[]
  /** Called after each look at the files, and after each change by the agent. Without skills that are disabled. */
  onListed(listing: SkillListing): void
  readonly log: Logger
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

export interface SkillsPort {
  /** Loads the skills. Absent where there are none. */
  readonly skills?: (() => Promise<Skills>) | undefined
}

export interface Skills {
  /** Looks at the files. Without those that are disabled. */
  list(): Promise<SkillListing>
  /** Where skills are, apart from those of the home. Commands may read these folders. */
  folders(): readonly string[]
  /** Finds a skill by its name as people or the model type it. */
  find(name: string): Promise<Skill | undefined>
  /** The layer of a new session; '' for none. */
  indexFor(facts: SkillFacts): Promise<string>
  /** Returns the skills that a session can use. */
  applicable(facts: SkillFacts): Promise<readonly Skill[]>
  /**
   * The text for the model of a message that begins with names of skills; '' if the first word names none. Rejects with system
   * errors.
   */
  expand(text: string): Promise<string>
  change(change: SkillChange): Promise<SkillChangeResult>
  readonly variables: Pick<SkillVariables, 'loaded' | 'missing'>
  /** What the commands of a session get. */
  variablesOf(conversation: SkillConversation): ReturnType<SkillVariables['of']>
  /** The values of the settings that a skill declares. */
  settingsOf(skill: Skill): Readonly<Record<string, unknown>>
  /** Why an owner must allow a change that a person of this role causes: a sentence; '' when no one is asked. */
  approvalFor(change: SkillChange, role: Role): Promise<string>
}

/** Lists of tools for which the index is remembered: platforms and roles have different ones. */
const maxIndexes = 64

export function createSkills(deps: SkillsDeps): Skills {
  const { settings, log } = deps
  const warnOnce = createWarnOnce(log)
  const variables = createSkillVariables(deps.environment, deps.withheld, deps.credentials)
  const externalFolders = () =>
    settings().skills.external_dirs.map((path) =>
      externalPath(path, deps.environment()['HOME'] || deps.home, deps.home),
    )
  const roots = (): SkillRoot[] => [
    { path: deps.root, origin: 'home' },
    ...externalFolders().map((path) => ({ path, origin: 'external' as const })),
    { path: deps.bundled, origin: 'bundled' },
  ]
  const catalog = createSkillCatalog(roots, deps.pluginSkills)
  const usable = createMemo<SkillListing>(1)
  const indexes = createMemo<string>(maxIndexes)

  async function list(): Promise<SkillListing> {
    const listing = await catalog.read()
    const { disabled } = settings().skills
    return usable([listing], disabled.join('\n'), () => withoutDisabled(listing, disabled))
  }

  /** Reports the list, which is another one than before. */
  function withoutDisabled(listing: SkillListing, names: readonly string[]): SkillListing {
    for (const { path, code, message } of listing.problems)
      warnOnce(`${path}\n${code}`, { event: 'skill.problem', path, code }, `a skill has a problem: ${message}`)
    const disabled = new Set(names)
    const isDisabled = (skill: Skill) =>
      [skill.name, toPathName(skill), toHeadName(skill)].some((name) => disabled.has(name))
    const used = { ...listing, skills: listing.skills.filter((skill) => !isDisabled(skill)) }
    deps.onListed(used)
    return used
  }

  async function find(name: string): Promise<Skill | undefined> {
    const { skills } = await list()
    return (
      skills.find((skill) => skill.name === name) ??
      skills.find((skill) => toPathName(skill) === name) ??
      skills.find((skill) => toTypedName(skill.name) === toTypedName(name))
    )
  }

  /** The variables of a skill that the scan blocks reach no command. */
  async function findReadable(name: string): Promise<Skill | undefined> {
    const skill = await find(name)
    return skill !== undefined && (await readInstructions(skill)).ok ? skill : undefined
  }

  const write = createSkillWriter(deps.root, find, deps.failpoint)
  return {
    list,
    folders: () => [...externalFolders(), deps.bundled, ...deps.pluginSkills().map(folderOf)],
    find,
    async indexFor(facts) {
      const { skills } = await list()
      const { toolNames, toolsets, system } = facts
      const key = [[...toolNames].join(), [...toolsets].join(), system].join('\n')
      return indexes([skills], key, () => formatSkillIndex(skills, facts))
    },
    applicable: async (facts) => (await list()).skills.filter((skill) => isApplicable(skill, facts)),
    async expand(text) {
      const { skills } = await list()
      const byName = new Map(
        skills
          .filter(({ conditions }) => fitsSystem(conditions, process.platform))
          .map((skill) => [toTypedName(skill.name), skill]),
      )
      const invocation = parseInvocation(text, (name) => byName.has(name))
      if (invocation === undefined) return ''
      const loaded: LoadedSkill[] = []
      for (const name of invocation.names) {
        const skill = byName.get(name)
        if (skill !== undefined) loaded.push(await loadSkill(skill))
      }
      return formatLoadedSkills(loaded)
    },
    async change(change) {
      const result = await write(change)
      if (result.ok) {
        const { action, name } = change
        log.info({ event: 'skill.changed', action, skill: name, path: result.path }, 'the agent changed a skill')
        await list()
      }
      return result
    },
    variables,
    variablesOf: (conversation) => variables.of(conversation, findReadable),
    settingsOf: (skill) => settingsOf(settings().skills.config, skill),
    approvalFor: (change, role) => changeApproval(find, settings().skills.write_approval, change, role),
  }

  async function loadSkill(skill: Skill): Promise<LoadedSkill> {
    const { name, directory } = skill
    const instructions = await readInstructions(skill)
    if (!instructions.ok) return { name, directory, text: instructions.reason, notes: [] }
    const configured = settingsOf(settings().skills.config, skill)
    const notes = Object.keys(configured).length === 0 ? [] : [`Settings: ${JSON.stringify(configured)}`]
    return {
      name,
      directory,
      text: shortenInstructions(instructions.text, directory),
      notes: [...notes, ...variables.missing(skill)],
    }
  }
}

/** Limits one skill that a message names; five may follow one another. */
const maxNamedChars = 50_000

function shortenInstructions(text: string, directory: string): string {
  if (text.length <= maxNamedChars) return text
  const part = text.slice(0, maxNamedChars).toWellFormed()
  return `${part}\n[${text.length - maxNamedChars} characters are left out. The whole text is in ${join(directory, skillFile)}.]`
}

function externalPath(path: string, userHome: string, home: string): string {
  if (path === '~' || path.startsWith('~/')) return join(userHome, path.slice(1))
  return isAbsolute(path) ? path : resolve(home, path)
}

/** `skills.config` has the keys of skills as they are, or nested: `wiki: { path: … }` for `wiki.path`. */
function settingsOf(config: Readonly<Record<string, unknown>>, { settings }: Skill): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    settings.map(({ key, default: byDefault }) => {
      const nested = key.split('.').reduce<unknown>((value, part) => asRecord(value)[part], config)
      return [key, config[key] ?? nested ?? byDefault]
    }),
  )
}
