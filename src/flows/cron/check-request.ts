/**
 * Checks the names in a request for a job before it is stored, so that a mistake is said at once and not by a failed run.
 */
import { join, sep } from 'node:path'
import type { JobMaker, JobRequest } from '../../cron/contract.ts'
import { findVisibleJob } from '../../cron/find-job.ts'
import { parseTarget } from '../delivery/parse-target.ts'
import type { ResolveTargetDeps } from '../delivery/resolve-target.ts'
import { isAll } from '../delivery/resolve-targets.ts'
import { findScript } from '../environments/run-script.ts'

export interface CheckRequestDeps extends Pick<ResolveTargetDeps, 'store'> {
  readonly accountDirectory: Pick<ResolveTargetDeps['accountDirectory'], 'list'>
  /** Why this person may not have a job send to a target: a part of a sentence; '' if it may. */
  targetProblem(name: string, maker: JobMaker): Promise<string>
  /** `scripts/` of the home. */
  readonly scripts: string
  /** Why a list of toolsets cannot be used: a sentence; '' if it can. */
  toolsetProblem(names: readonly string[]): Promise<string>
  /** The names of skills that do not exist. */
  unknownSkills(names: readonly string[]): Promise<readonly string[]>
}

/** A sentence; '' when all names are known. Rejects `store/...`. */
export async function checkJobRequest(deps: CheckRequestDeps, request: JobRequest, maker: JobMaker): Promise<string> {
  const { deliver = '', skills = [], enabled_toolsets = [], context_from = [], script = '', workdir = '' } = request
  for (const name of deliver.split(',').map((target) => target.trim())) {
    if (name === '') continue
    const parsed = isAll(name) ? undefined : parseTarget(name, deps.accountDirectory.list())
    if (parsed !== undefined && 'problem' in parsed) return `deliver: ${parsed.problem}.`
    const refused = await deps.targetProblem(name, maker)
    if (refused !== '') return `deliver: ${name}: ${refused}.`
  }
  const [unknownSkill] = skills.length === 0 ? [] : await deps.unknownSkills(skills)
  if (unknownSkill !== undefined) return `There is no skill "${unknownSkill}".`
  const toolsets = enabled_toolsets.length === 0 ? '' : await deps.toolsetProblem(enabled_toolsets)
  if (toolsets !== '') return toolsets
  for (const name of context_from) {
    const job = await findVisibleJob(deps.store, name, maker.authority)
    if ('problem' in job) return `context_from: ${job.problem}`
  }
  if (workdir !== '' && !workdir.startsWith(sep)) return 'workdir: expected an absolute path.'
  if (script !== '' && (await findScript(deps.scripts, script)) === undefined)
    return `The script ${join(deps.scripts, script)} does not exist, or lies outside of ${deps.scripts}.`
  return ''
}
