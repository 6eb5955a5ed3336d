/**
 * One container as an environment for commands: created, found again after a restart, stopped when it is idle, and created again
 * after it was removed. Its commands run by `docker exec`.
 */
import { randomBytes } from 'node:crypto'
import { HermesError, isHermesError, type Logger, messageOf, type RemoteClient } from '#sdk'
import { reasonOf, runClient } from '../shared/client-program.ts'
import { createContainerLifecycle } from '../shared/container-lifecycle.ts'
import {
  type ContainerPlan,
  labelNames,
  type OptionalPart,
  ownLabels,
  planHash,
  refusedPart,
  runArguments,
} from './arguments.ts'
import {
  type ContainerState,
  type Engine,
  failureOf,
  hasImage,
  inspectContainer,
  listContainers,
  order,
  orderTimeoutMs,
  removeContainer,
  stopContainer,
} from './engine.ts'
import { pullImage } from './pull-image.ts'

export interface DockerClientDeps {
  /** Called before each start, because the settings may have changed. Creates the folders of the plan. */
  plan(): Promise<ContainerPlan>
  /** Opens the engine. Rejects `environment/...`. */
  engine(signal: AbortSignal): Promise<Engine>
  /** The container was removed. */
  removed(): Promise<void>
  /** Tells people what they wait for. */
  announce(text: string): void
  /** Returns how long an idle container lives; undefined: until `stop`. */
  lifetimeMs(): number | undefined
  readonly log: Logger
}

interface RunningContainer {
  readonly engine: Engine
  readonly id: string
  /** It is stopped and found again, and not removed. */
  readonly isKept: boolean
}

/** The client programs ask the engine for the exit code before they end. */
const clientEndMs = 1_500

/** Docker says `exited` where podman may say `stopped`. */
const usableStates: ReadonlySet<string> = new Set(['running', 'exited', 'stopped'])

/** The engine answers within this time why a command has ended. */
const explainTimeoutMs = 5_000

export function createDockerClient(deps: DockerClientDeps): RemoteClient {
  const { log } = deps
  const findOrCreate = createContainerStart(deps)
  const lifecycle = createContainerLifecycle<RunningContainer>({
    lifetimeMs: deps.lifetimeMs,
    log,
    async open(signal) {
      const engine = await deps.engine(signal)
      const plan = await deps.plan()
      return { engine, id: await findOrCreate(engine, plan, signal), isKept: plan.settings.container_persistent }
    },
    isBusy: async ({ engine, id }, signal) => (await inspectContainer(engine, id, signal))?.isBusy === true,
    async close({ engine, id, isKept }, signal) {
      if (!isKept) {
        await removeContainer(engine, id, signal)
        await deps.removed()
      } else if ((await inspectContainer(engine, id, signal)) !== undefined) await stopContainer(engine, id, signal)
    },
  })

  return {
    kind: 'docker',
    endMs: clientEndMs,
    start: lifecycle.start,
    stop: lifecycle.stop,

    commandLine(script, { input }) {
      const container = lifecycle.current()
      if (container === undefined) throw new HermesError('environment/unreachable', 'The container was stopped.')
      const { program } = container.engine
      return {
        argv: [program.path, 'exec', ...(input ? ['--interactive'] : []), container.id, 'sh', '-c', script],
        env: program.env,
      }
    },

    async describeFailure({ stderr }) {
      const container = lifecycle.current()
      if (container === undefined) return new HermesError('environment/lost', 'The container was stopped.')
      const ended = await findEnd(container)
      if (ended !== undefined) {
        lifecycle.lost(container)
        return new HermesError('environment/lost', ended)
      }
      if (!startFailure.test(stderr)) return undefined
      // Nothing can run there any more, usually because the limit of processes is reached.
      await lifecycle.stop()
      return new HermesError(
        'environment/container-failed',
        `It was stopped, because it starts no process: ${stderr.trim()}`,
      )
    },
  }
}

/** What the engine says when a running container cannot start one more process. */
const startFailure =
  /exec failed|unable to start container process|resource temporarily unavailable|init-p|procReady|(?:can't|cannot) fork/i

/** Why nothing can run in the container any more; undefined while it is running. Never rejects. */
async function findEnd({ engine, id }: RunningContainer): Promise<string | undefined> {
  try {
    const state = await inspectContainer(engine, id, AbortSignal.timeout(explainTimeoutMs))
    if (state === undefined) return 'The container was removed.'
    if (state.status === 'running') return undefined
    return state.outOfMemory
      ? 'The container had no memory left (`container_memory`).'
      : `The container is ${state.status}.`
  } catch (error) {
    return messageOf(error)
  }
}

/** Finds the container of an earlier start, or creates one. */
function createContainerStart({ announce, log }: Pick<DockerClientDeps, 'announce' | 'log'>) {
  /** Whether the container may still run commands of a gateway that was killed. */
  let isFirst = true
  /** What this engine cannot do; remembered, so that it is tried once. */
  const without = new Set<OptionalPart>()

  const restart = async (engine: Engine, { id, status }: ContainerState, signal: AbortSignal): Promise<boolean> => {
    try {
      const isRunning = status === 'running'
      if (isRunning && isFirst) await stopContainer(engine, id, signal)
      if (!isRunning || isFirst) await order(engine, ['start', id], { signal })
      log.info({ event: 'container.found', container: shortId(id) }, 'a container is used again')
      return true
    } catch (error) {
      if (!isHermesError(error, 'environment/container-failed')) throw error
      log.warn({ event: 'container.not_restarted', err: error }, 'a container does not start again and is replaced')
      return false
    }
  }

  const reuse = async (engine: Engine, plan: ContainerPlan, signal: AbortSignal): Promise<string | undefined> => {
    const label = `${labelNames.conversation}=${plan.owner.conversation}`
    const containers = await listContainers(engine, [...ownLabels(plan.owner), label], signal)
    const hash = planHash(plan)
    const usable = plan.settings.container_persistent
      ? containers.find(({ labels, status }) => labels[labelNames.plan] === hash && usableStates.has(status))
      : undefined
    const reused = usable !== undefined && (await restart(engine, usable, signal))
    for (const container of containers) {
      if (reused && container === usable) continue
      await removeContainer(engine, container.id, signal)
      log.info(
        { event: 'container.replaced', container: shortId(container.id) },
        'a container of other settings was removed',
      )
    }
    return reused ? usable.id : undefined
  }

  const create = async (engine: Engine, plan: ContainerPlan, signal: AbortSignal): Promise<string> => {
    const { docker_image: image, docker_env } = plan.settings
    if (!(await hasImage(engine, image, signal))) await pullImage(engine, image, { signal, announce, log })
    const name = `hermes-${plan.owner.home.slice(0, 6)}-${randomBytes(4).toString('hex')}`
    const program = { ...engine.program, env: { ...docker_env, ...engine.program.env } }
    for (;;) {
      const args = runArguments(plan, name, without)
      const result = await runClient(program, args, { signal, timeoutMs: orderTimeoutMs })
      if (result.exitCode === 0) {
        const id = result.stdout.trim().split('\n').at(-1) ?? ''
        log.info({ event: 'container.created', container: shortId(id), image }, 'a container was created')
        return id
      }
      // A failed start leaves a container behind.
      await removeContainer(engine, name, signal)
      const part = refusedPart(result.stderr)
      if (part === undefined || without.has(part)) throw failureOf(engine, result)
      without.add(part)
      const reason = reasonOf(result)
      log.warn({ event: 'container.without', part, reason }, 'the engine does not support a part of the settings')
    }
  }

  return async (engine: Engine, plan: ContainerPlan, signal: AbortSignal): Promise<string> => {
    const id = (await reuse(engine, plan, signal)) ?? (await create(engine, plan, signal))
    isFirst = false
    return id
  }
}

function shortId(id: string): string {
  return id.slice(0, 12)
}
