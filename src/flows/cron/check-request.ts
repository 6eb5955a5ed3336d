/**
 * Checks the names in a request for a job before it is stored, so that a mistake is said at once and not by a failed run.
 */
import { join, sep } from 'node:path'
import type { Skills } from '../../agent/skills/skills.ts'
import type { CustomToolsets, SelectableTool } from '../../agent/toolsets/select-tools.ts'
import type { JobMaker, JobRequest } from '../../cron/contract.ts'
import { findVisibleJob } from '../../cron/job-store.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type { Runtime } from '../../store/runtime.ts'
import { parseTarget } from '../delivery/parse-target.ts'
import { isAll } from '../delivery/resolve-target.ts'
import { findScript, scriptsDirectory } from '../environments/run-script.ts'

/** The names that a request may use. */
export interface KnownNames {
  accounts(): readonly PlatformAccount[]
  /** Why this person may not have a job send to a target: a part of a sentence; '' if it may. */
  targetProblem(name: string, maker: JobMaker): Promise<string>
  /** Why a list of toolsets cannot be used: a sentence; '' if it can. */
  toolsetProblem(names: readonly string[]): Promise<string>
  skills(): Promise<Pick<Skills, 'list'>>
}

/** A sentence; '' when all names are known. Rejects `store/...`. */
export async function checkJobRequest(
  { home, store }: Pick<Runtime, 'home' | 'store'>,
  names: KnownNames,
  request: JobRequest,
  maker: JobMaker,
): Promise<string> {
  const scripts = scriptsDirectory(home)
  const { deliver = '', skills = [], enabled_toolsets = [], context_from = [], script = '', workdir = '' } = request
  for (const name of deliver.split(',').map((target) => target.trim())) {
    if (name === '') continue
    const parsed = isAll(name) ? undefined : parseTarget(name, names.accounts())
    if (parsed !== undefined && 'problem' in parsed) return `deliver: ${parsed.problem}.`
    const refused = await names.targetProblem(name, maker)
    if (refused !== '') return `deliver: ${name}: ${refused}.`
  }
  const unknownSkill = skills.length === 0 ? undefined : await findUnknownSkill(skills, await names.skills())
  if (unknownSkill !== undefined) return `There is no skill "${unknownSkill}".`
  const toolsets = enabled_toolsets.length === 0 ? '' : await names.toolsetProblem(enabled_toolsets)
  if (toolsets !== '') return toolsets
  for (const name of context_from) {
    const job = await findVisibleJob(store, name, maker.authority)
    if ('problem' in job) return `context_from: ${job.problem}`
  }
  if (workdir !== '' && !workdir.startsWith(sep)) return 'workdir: expected an absolute path.'
  if (script !== '' && (await findScript(home, script)) === undefined)
    return `The script ${join(scripts, script)} does not exist, or lies outside of ${scripts}.`
  return ''
}

async function findUnknownSkill(names: readonly string[], known: Pick<Skills, 'list'>): Promise<string | undefined> {
  const { skills } = await known.list()
  return names.find((name) => !skills.some((skill) => skill.name === name))
}

/** Why a list of toolsets cannot be used with these tools: a sentence; '' if it can. */
export async function unknownToolsetProblem(
  names: readonly string[],
  tools: readonly SelectableTool[],
  custom: CustomToolsets,
): Promise<string> {
  const { findUnknownEntries } = await import('../../agent/toolsets/select-tools.ts')
  const [unknown] = findUnknownEntries(names, tools, custom)
  if (unknown === undefined) return ''
  const question = unknown.nearest === null ? '' : ` Did you mean "${unknown.nearest}"?`
  return `There is neither a toolset nor a tool "${unknown.name}".${question}`
}
