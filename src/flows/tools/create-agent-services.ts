/**
 * Creates what a turn needs of the agent. What a turn opens is loaded with the first one, so that an idle daemon does not pay for it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Checkpoints } from '../../agent/checkpoints/checkpoints.ts'
import type { AgentConfig } from '../../agent/config.ts'
import type { Environment } from '../../agent/environments/environment.ts'
import {
  createSessionResourcePool,
  type SessionResourcePool,
  type SessionResourcesDeps,
} from '../../agent/environments/session-resources.ts'
import type { EphemeralPrompt } from '../../agent/models/ephemeral-prompt.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import type { CallingTurn, ToolContext, UpcomingChange } from '../../agent/tools/tool.ts'
import { createLruCache, createMemo, lazy } from '../../lib/cache.ts'
import { prepareProcessFolder } from '../../lib/files.ts'
import { sleep } from '../../lib/timers.ts'
import type { SessionSource } from '../../message/source.ts'
import { workingDirectory } from '../environments/working-directory.ts'
import { type AgentModels, createAgentModels } from '../models/agent-models.ts'
import type { MediaServices } from '../models/media-services.ts'
import type {
  AgentEnvironments,
  AgentServices,
  AgentServicesDeps,
  EphemeralTexts,
  ToolOffers,
  ToolTurn,
  TurnElsewhere,
} from './agent-services.ts'
import { createToolAccess } from './tool-access.ts'
import { createToolContexts } from './tool-context.ts'
import type { ToolRuntime } from './tool-runtime.ts'
import {
  belowCeiling,
  createAgentTools,
  createSessionToolSnapshots,
  createToolSelection,
  createToolsetFinder,
  type OpenTools,
  toolListOf,
  turnKindsOf,
  withoutUseless,
} from './turn-tools.ts'

/** Folders whose sandbox is remembered. */
const maxWorkspaces = 64

export function createAgentServices(deps: AgentServicesDeps): AgentServices {
  const { settings, isShared, platformToolsets: declared } = deps
  let runtime: ToolRuntime | undefined
  let isSandboxMissing = false
  let reconfigurations = 0
  const { openProxy, ...sockets } = createSocketAccess(deps)
  const snapshotTools = createSessionToolSnapshots()
  const selectTools = createToolSelection()
  const findToolsets = createToolsetFinder()
  const { resources, browser } = withBrowser(deps, {
    createEnvironment: (...session) => requireRuntime().createEnvironment(...session),
    createProcessTable: () => requireRuntime().createProcessTable(),
    readTodos: (json, earlier) => requireRuntime().readTodos(json, earlier),
  })
  const environments = createEnvironmentNotices(deps)
  const cwd = createWorkingDirectory(deps)
  const models = createAgentModels(deps)
  const access = createToolAccess(deps, models, async (turn, name) => {
    const { all, resolve } = await openSessionTools(turn)
    return all.schemas().some((schema) => schema.name === name) ? resolve(name) : undefined
  })
  const media = openLazily<MediaServices>(() => openMedia(deps, models))
  const checkpoints = createCheckpointAccess(deps, (workspace) => sandboxOf(workspace))
  /** Opened with the first command or file. A later change of the configuration opens another one. */
  const sandbox = openLazily<Sandbox | undefined>(async (isCurrent) => {
    const opened = await openSandboxIn(cwd())
    if (isCurrent()) {
      isSandboxMissing = opened?.kind === 'none'
      deps.onSandbox(opened)
    }
    return opened
  })

  /** The sandboxes of the folders in which single conversations work. */
  const workspaces = createMemo<Promise<Sandbox | undefined>>(maxWorkspaces)

  async function openSandboxIn(directory: string): Promise<Sandbox | undefined> {
    const { openSandbox } = await import('../environments/open-sandbox.ts')
    return await openSandbox(deps, directory, openProxy, deps.skills)
  }

  async function sandboxOf(workspace?: string): Promise<Sandbox | undefined> {
    if (!existsSync(workspace ?? cwd())) prepareProcessFolder(deps.home, workspace ?? cwd())
    if (workspace === undefined) return sandbox.get()
    return workspaces([reconfigurations], workspace, () => openSandboxIn(workspace))
  }

  const agentTools = openLazily<OpenTools>(async () => {
    const { openToolRuntime } = await import('./tool-runtime.ts')
    const toolServices = { ...deps.toolServices, ...access, beforeChange: checkpoints.before }
    const { announce } = environments
    const parts = { cwd, sandbox: sandboxOf, openBrowser: browser, media: media.get, announce }
    runtime = await openToolRuntime({ ...deps, toolServices }, parts)
    return { tools: createAgentTools(runtime.tools, deps, parts), resolve: runtime.tools.resolve }
  })

  /** The current runtime. Sessions keep the environment they already have. */
  function requireRuntime(): ToolRuntime {
    if (runtime === undefined) throw new Error('the tools have not been opened')
    return runtime
  }

  const toolContextFor = createToolContexts(deps, {
    resources,
    environmentUsed: environments.used,
    async turnVariables(turn) {
      const opened = await sandbox.get()
      // Without a sandbox commands find the complete `hermes`.
      return opened?.binDirectory === undefined ? {} : sockets.variablesOf(turn, opened)
    },
  })

  /** What the session is offered, before the role of a person takes any away. */
  const openSessionTools = async ({ sessionId, sessionKey, authority, event, toolNames }: ToolTurn) => {
    const { tools, resolve } = await agentTools.get()
    const select = () => selectTools(settings(), { tools, resolve }, { authority, event, declared })
    const offered = { all: await snapshotTools({ sessionId, toolNames, select }, tools), resolve }
    const sessionTools = sessionKey === undefined ? undefined : await deps.sessionServers?.opened?.tools(sessionKey)
    if (sessionTools === undefined) return offered
    const { withSessionTools } = await import('../mcp/session-tools.ts')
    return withSessionTools(offered, sessionTools, createAgentTools(sessionTools, deps, { sandbox: sandboxOf }))
  }

  const tools: ToolOffers = {
    async forTurn(turn) {
      const { authority, event } = turn
      if (isSandboxMissing) await deps.announceMissingSandbox(turn)
      const { all, resolve } = await openSessionTools(turn)
      const list = toolListOf(settings().roles, authority)
      const useful = withoutUseless(all, turnKindsOf(event, settings()))
      const filtersSchemas = event === undefined || !isShared(event.source)
      return await belowCeiling(useful, resolve, { authority, list, filtersSchemas })
    },
    async toolsetsOf(names) {
      return await findToolsets(await agentTools.get(), names, settings().custom_toolsets)
    },
    async namesForSession(turn) {
      const { all } = await openSessionTools(turn)
      return all.schemas().map(({ name }) => name)
    },
    toolListOf: (authority) => toolListOf(settings().roles, authority),
    toolContext(turn, call, signal) {
      const { sessionId, id: turnId, transcript } = turn
      return toolContextFor({ sessionId, turnId, turn }, () => transcript.map(({ message }) => message), call, signal)
    },
    openSubagentWorkspace: (sessionId, turnId, turn) => ({
      toolContextFor: (call, signal) => toolContextFor({ sessionId, turnId, turn }, () => [], call, signal),
      close: () => resources.dispose(sessionId),
    }),
    changed: () => agentTools.reset(),
  }

  return {
    models,
    tools,
    environments: {
      ...{ cwd, sandbox: sandboxOf, openProxy, checkpoints: checkpoints.get },
      ...{ hasRunningCommand: resources.hasRunningCommand, renameSession: resources.rename },
      ...createEnvironmentAccess(deps),
      async openShell() {
        requireMachine(settings().terminal)
        await agentTools.get()
        const { commandPolicy, createEnvironment } = requireRuntime()
        return { commandPolicy, environment: createEnvironment('operator') }
      },
      reportLostCommands: async () => deps.commandReports?.reportLost(),
    },
    prompt: createEphemeralTexts(deps),
    media: media.get,
    reconfigured() {
      models.reconfigured()
      agentTools.reset()
      sandbox.reset()
      reconfigurations += 1
      isSandboxMissing = false
      deps.onSandbox(undefined)
    },
    async close() {
      // What is killed now is reported by the next start.
      deps.commandReports?.close()
      await Promise.all([resources.close(), sockets.close(), models.close(), checkpoints.close()])
    },
  }
}

/** The directory in which commands begin. It is worked out again when the configuration changes. */
function createWorkingDirectory(deps: AgentServicesDeps): () => string {
  const directory = createMemo<string>(1)
  return () => directory([deps.settings(), deps.environment()], '', () => workingDirectory(deps))
}

/** Tells the people of the turn that uses an environment what they wait for. */
function createEnvironmentNotices({ announceEnvironment, log }: AgentServicesDeps) {
  const turns = createLruCache<TurnElsewhere>(1_000)
  return {
    used({ isSandboxed }: Environment, sessionId: string, { id, event }: CallingTurn): void {
      if (event !== undefined && isSandboxed === undefined) turns.set(sessionId, { id, event })
    },
    announce(sessionId: string, text: string): void {
      const turn = turns.get(sessionId)
      if (turn === undefined) return
      announceEnvironment?.(turn, text).catch((err) => log.error({ event: 'notice.not_stored', err }, text))
    },
  }
}

function createEnvironmentAccess(deps: AgentServicesDeps): Pick<AgentEnvironments, 'recover' | 'openRemote'> {
  return {
    async recover() {
      const isHere = /^(?:local|bwrap|none)$/.test(deps.settings().terminal.backend)
      if (isHere && !existsSync(join(deps.home.root, 'sandboxes'))) return
      const environments = await import('../environments/remote-environments.ts')
      await environments.recoverEnvironments(deps)
    },
    async openRemote() {
      const { openRemoteEnvironments } = await import('../environments/remote-environments.ts')
      return await openRemoteEnvironments(deps)
    },
  }
}

/** The resources of sessions, to which their pages in the browser belong. The code of the browser is loaded with its first call. */
function withBrowser(deps: AgentServicesDeps, parts: SessionResourcesDeps) {
  const pool = createSessionResourcePool(parts)
  const open = lazy(async () => (await import('./browser-access.ts')).createBrowsers(deps))
  const resources: SessionResourcePool = {
    ...pool,
    rename(from, to) {
      pool.rename(from, to)
      void open.made()?.then((browsers) => browsers.rename(from, to))
    },
    async dispose(sessionId) {
      await Promise.all([pool.dispose(sessionId), open.made()?.then((browsers) => browsers.dispose(sessionId))])
    },
    async close() {
      await Promise.all([pool.close(), open.made()?.then((browsers) => browsers.close())])
    },
  }
  return {
    resources,
    browser: open,
  }
}

/** What commands in the sandbox reach of the gateway. The code is loaded with the first command. */
function createSocketAccess({ settings, log, turnAccess }: AgentServicesDeps) {
  const open = lazy(async () => {
    const { createSandboxSockets } = await import('../environments/sandbox-sockets.ts')
    return createSandboxSockets(settings, log, turnAccess)
  })
  return {
    openProxy: async (directory: string) => (await open()).openProxy(directory),
    variablesOf: async (turn: CallingTurn, sandbox: Sandbox) => (await open()).variablesOf(turn, sandbox),
    close: async () => (await open.made())?.close(),
  }
}

/** What tools do before they change files on this machine. The code is loaded with the first change. */
function createCheckpointAccess(
  deps: AgentServicesDeps,
  sandbox: (workspace?: string) => Promise<Sandbox | undefined>,
) {
  const opened = openLazily<Checkpoints>(async () => {
    const { openCheckpoints } = await import('../environments/checkpoints.ts')
    return openCheckpoints(deps, () => sandbox())
  })
  return {
    get: opened.get,
    close: async () => await (await opened.current())?.close(),
    async before(change: UpcomingChange, { environment, turn, turnId, signal }: ToolContext): Promise<void> {
      const isHere = environment.kind === 'local' || environment.kind === 'bwrap'
      const isWanted = deps.settings().checkpoints.enabled || turn.event?.metadata?.['checkpoints'] === 'yes'
      if (!isHere || !isWanted) return
      const { checkpointBefore } = await import('../environments/checkpoints.ts')
      const view = await sandbox(turn.settings?.workspace)
      const toHostPath = (path: string) => view?.toHostPath(path) ?? path
      const of = { isOwner: turn.authority.role === 'owner', turn: turnId, session: turn.sessionKey ?? '' }
      const call = { environment, ...of, toHostPath, redact: deps.redact }
      await checkpointBefore(await opened.get(), change, call, signal)
    },
  }
}

async function openMedia(deps: AgentServicesDeps, { servers }: AgentModels): Promise<MediaServices> {
  const { createMediaServices } = await import('../models/media-services.ts')
  return createMediaServices({ ...deps, servers, clock: Date.now, sleep })
}

/** Its code is loaded where some text is configured. */
function createEphemeralTexts({ home, log, settings, environment, policyOf }: AgentServicesDeps): EphemeralTexts {
  let problem = ''
  async function ephemeralPrompt(source: SessionSource): Promise<EphemeralPrompt | undefined> {
    const { agent, prefill_messages_file: prefillFile } = settings()
    const { channelPrompts, models } = policyOf?.(source) ?? {}
    const channels = models?.channels
    if (agent.system_prompt === '' && prefillFile === '' && channelPrompts === undefined && channels === undefined) {
      problem = ''
      return undefined
    }
    const { readEphemeralPrompt } = await import('../models/ephemeral-prompt.ts')
    const texts = { channelPrompts: channelPrompts ?? {}, channelOverrides: channels ?? {} }
    const configured = { systemPrompt: agent.system_prompt, prefillFile, ...texts }
    const userHome = environment().values['HOME'] ?? home.root
    const prompt = readEphemeralPrompt(configured, source, { home: home.root, userHome })
    if (prompt.problem !== '' && prompt.problem !== problem)
      log.warn({ event: 'prompt.prefill_unusable', reason: prompt.problem }, 'a file of messages is left out')
    problem = prompt.problem
    return prompt.prompt
  }
  return {
    async senderOf({ event }, provider) {
      // A sub-agent has a prompt of its own.
      const prompt = event.task?.delegation === undefined ? await ephemeralPrompt(event.source) : undefined
      if (prompt === undefined) return provider
      const { withEphemeralPrompt } = await import('../../agent/models/ephemeral-prompt.ts')
      return withEphemeralPrompt(provider, prompt)
    },
    at: ephemeralPrompt,
    problem: () => problem,
  }
}

/** Opens a value with the first call, and with the next call after a failure, which may be a full disk. */
function openLazily<T>(open: (isCurrent: () => boolean) => Promise<T>) {
  let current: Promise<T> | undefined
  return {
    get(): Promise<T> {
      if (current !== undefined) return current
      const opening: Promise<T> = open(() => current === opening)
      current = opening
      opening.catch(() => {
        if (current === opening) current = undefined
      })
      return opening
    },
    /** Undefined where it was not opened. */
    current: () => current,
    reset(): void {
      current = undefined
    },
  }
}

function requireMachine({ backend }: AgentConfig['terminal']): void {
  if (backend === 'local' || backend === 'bwrap') return
  throw new Error(`commands do not run on this machine (terminal.backend: ${backend})`)
}
