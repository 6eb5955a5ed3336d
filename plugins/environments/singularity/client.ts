/**
 * One instance of Apptainer as an environment for commands. Its commands run by `exec instance://`.
 */
import { randomBytes } from 'node:crypto'
import { HermesError, type Logger, messageOf, type RemoteClient } from '#sdk'
import { type ClientProgram, reasonOf } from '../shared/client-program.ts'
import { createContainerLifecycle } from '../shared/container-lifecycle.ts'
import { workspacePath } from '../shared/working-directory.ts'
import { listInstances, orderSingularity } from './program.ts'

/** What an instance is started from. */
export interface InstancePlan {
  readonly program: ClientProgram
  /** The path of the image. */
  readonly image: string
  /** Begins the names of all instances of one home. */
  readonly namePrefix: string
  /** Directories of this machine, which exist. */
  readonly workspace: string
  readonly attachments: { readonly source: string; readonly target: string }
  /** Keeps what commands change outside of the workspace; undefined: that lives in memory. */
  readonly overlay: string | undefined
  /** CPUs and MB; 0 for no limit. */
  readonly cpu: number
  readonly memory: number
  readonly hasNetwork: boolean
}

export interface SingularityClientDeps {
  /** Called before each start. Fetches the image and creates the folders. Rejects `environment/...`. */
  plan(signal: AbortSignal): Promise<InstancePlan>
  /** The instance was stopped. */
  closed(): Promise<void>
  readonly log: Logger
}

type OptionalPart = 'limits' | 'overlay'

interface Instance {
  readonly program: ClientProgram
  readonly name: string
}

const explainTimeoutMs = 5_000

export function createSingularityClient(deps: SingularityClientDeps): RemoteClient {
  const { log } = deps
  const without = new Set<OptionalPart>()
  const lifecycle = createContainerLifecycle<Instance>({
    // An idle instance is one sleeping process, and nothing tells whether commands still run in it.
    lifetimeMs: () => undefined,
    isBusy: async () => true,
    log,
    async open(signal) {
      const plan = await deps.plan(signal)
      return { program: plan.program, name: await startInstance(plan, without, { signal, log }) }
    },
    async close({ program, name }, signal) {
      await stopInstance(program, name, signal)
      await deps.closed()
    },
  })

  return {
    kind: 'singularity',
    start: lifecycle.start,
    stop: lifecycle.stop,

    commandLine(script, _options) {
      const instance = lifecycle.current()
      if (instance === undefined) throw new HermesError('environment/unreachable', 'The instance was stopped.')
      const { program, name } = instance
      const inside = ['--cleanenv', '--pwd', workspacePath, `instance://${name}`, 'sh', '-c', script]
      return { argv: [program.path, 'exec', ...inside], env: program.env }
    },

    async describeFailure() {
      const instance = lifecycle.current()
      if (instance === undefined) return new HermesError('environment/lost', 'The instance was stopped.')
      const ended = await findEnd(instance)
      if (ended === undefined) return undefined
      lifecycle.lost(instance)
      return new HermesError('environment/lost', ended)
    },
  }
}

async function findEnd({ program, name }: Instance): Promise<string | undefined> {
  try {
    const running = await listInstances(program, AbortSignal.timeout(explainTimeoutMs))
    return running.includes(name) ? undefined : 'The instance has ended.'
  } catch (error) {
    return messageOf(error)
  }
}

/** Returns the name. Rejects `environment/container-failed`, or the reason of the signal. */
async function startInstance(
  plan: InstancePlan,
  without: Set<OptionalPart>,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<string> {
  const name = `${plan.namePrefix}${randomBytes(4).toString('hex')}`
  for (;;) {
    const args = ['instance', 'start', ...startArguments(plan, without), plan.image, name]
    const result = await orderSingularity(plan.program, args, signal)
    if (result.exitCode === 0) {
      log.info({ event: 'container.created', container: name, image: plan.image }, 'a container was created')
      return name
    }
    const part = refusedPart(result.stderr)
    const reason = reasonOf(result)
    if (part === undefined || without.has(part)) throw new HermesError('environment/container-failed', reason)
    without.add(part)
    log.warn({ event: 'container.without', part, reason }, 'the engine does not support a part of the settings')
  }
}

function startArguments(plan: InstancePlan, without: ReadonlySet<OptionalPart>): string[] {
  const { overlay, attachments } = plan
  const limits = [
    ...['--pids-limit', '256'],
    ...(plan.cpu > 0 ? ['--cpus', String(plan.cpu)] : []),
    ...(plan.memory > 0 ? ['--memory', `${plan.memory}M`] : []),
  ]
  return [
    ...['--containall', '--no-home', '--cleanenv', '--no-privs'],
    ...(overlay === undefined || without.has('overlay') ? ['--writable-tmpfs'] : ['--overlay', overlay]),
    ...['--bind', `${plan.workspace}:${workspacePath}`, '--bind', `${attachments.source}:${attachments.target}:ro`],
    ...(plan.hasNetwork ? [] : ['--net', '--network', 'none']),
    ...(without.has('limits') ? [] : limits),
  ]
}

/** The part that this installation cannot obey, as its failure says. */
function refusedPart(stderr: string): OptionalPart | undefined {
  if (/cgroup|pids-limit|--cpus|--memory/i.test(stderr)) return 'limits'
  if (/overlay/i.test(stderr)) return 'overlay'
  return undefined
}

/** Ends everything that runs in the instance. One that has ended is fine. Rejects `environment/...`. */
export async function stopInstance(program: ClientProgram, name: string, signal: AbortSignal): Promise<void> {
  const result = await orderSingularity(program, ['instance', 'stop', '--timeout', '2', name], signal)
  if (result.exitCode === 0) return
  if ((await listInstances(program, signal)).includes(name))
    throw new HermesError('environment/container-failed', reasonOf(result))
}
