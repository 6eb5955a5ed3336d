/**
 * Tries the environment in which the agent would run commands, if that is not this machine.
 */
import { builtInBackends, runsOnThisMachine } from '../../agent/environments/kinds.ts'
import { openRemoteEnvironments } from '../../flows/environments/remote-environments.ts'
import { silentLog } from '../../lib/log.ts'
import type { CliContext } from '../kit/context.ts'
import type { Settings } from '../kit/settings.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

const subject = 'Commands'
const timeoutMs = 20_000

export const checkEnvironment: Check = async ({ context, settings, offline }) => {
  const { backend } = settings.config.current().terminal
  if (runsOnThisMachine(backend)) return []
  if (backend === 'none') return [note(subject, 'the agent has no terminal and no file tools (terminal.backend: none)')]
  if (offline && backend === 'ssh') return [note(subject, `the agent works over ssh, which was not tried`)]
  return [await tryEnvironment(context, settings)]
}

/** What is wrong with the environment, for `config check`; undefined if nothing is. */
export async function findEnvironmentProblem(context: CliContext, settings: Settings): Promise<string | undefined> {
  const { backend } = settings.config.current().terminal
  if (runsOnThisMachine(backend) || backend === 'none') return undefined
  const { state, text, advice = '' } = await tryEnvironment(context, settings)
  return state === 'ok' ? undefined : `terminal.backend: ${backend}: ${text} ${advice}`.trim()
}

async function tryEnvironment({ home }: CliContext, { config }: Settings): Promise<CheckResult> {
  const { backend } = config.current().terminal
  if (!builtInBackends.includes(backend)) {
    const advice = 'Enable the plugin that offers it. `hermes status` says whether the running gateway has found it.'
    return note(subject, `the agent works in ${backend}, which a plugin has to offer`, advice)
  }
  const { environment } = config
  const environments = await openRemoteEnvironments({
    ...{ home, environment, settings: config.current },
    withheld: [],
    environmentKinds: new Map(),
    log: silentLog,
  })
  const check = await environments?.check(AbortSignal.timeout(timeoutMs))
  if (check === undefined)
    return problem(subject, `no plugin offers ${backend}`, 'Correct terminal.backend in config.yaml.')
  if (check.ok) return ok(subject, `the agent works in ${backend}: ${check.detail}`)
  return { ...problem(subject, `${backend}: ${check.detail} (${check.code})`, check.hint), code: check.code }
}
