/**
 * Loads the configured tools and creates their environments. Imported when the first turn needs it, so that an idle daemon
 * does not pay for it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserAccess } from '../../agent/browser/contract.ts'
import { findBrowser, isBrowserOptional } from '../../agent/browser/find-browser.ts'
import { createFileGuard } from '../../agent/command-policy/file-guard.ts'
import { type CommandPolicy, createCommandPolicy } from '../../agent/command-policy/policy.ts'
import type { AgentConfig } from '../../agent/config.ts'
import { installCliShim } from '../../agent/environments/cli-shim.ts'
import { createLocalEnvironment } from '../../agent/environments/local-environment.ts'
import { withNamedVariables } from '../../agent/environments/passed-variables.ts'
import { createProcessTable, type SessionResourcesDeps } from '../../agent/environments/session-resources.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import { readTodoCall } from '../../agent/support/todo-list.ts'
import type { ToolServices } from '../../agent/tools/built-in-tools.ts'
import { createToolRegistry, type LoadedTools, type ToolRegistry } from '../../agent/tools/registry.ts'
import type { MediaMaker } from '../../agent/tools/sets/media.ts'
import { selectDisabledTools } from '../../agent/toolsets/select-tools.ts'
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { PluginToolEntry } from '../../plugins/plugin-tools.ts'
import type { RemoteEnvironments } from '../environments/remote-environments.ts'
import type { MediaServices } from '../models/media-services.ts'
import type { AgentServicesDeps } from './agent-services.ts'

/** What the tools share with the services of the agent. */
export interface ToolRuntimeParts {
  /** The directory in which commands start. */
  cwd(): string
  /** Opens the sandbox on the first call. Undefined when none is configured. `workspace`: a folder in place of `cwd`. */
  sandbox(workspace?: string): Promise<Sandbox | undefined>
  /** Opens the browser. */
  openBrowser(): Promise<BrowserAccess>
  /** The services that speak and draw. */
  media(): Promise<MediaServices>
  /** Tells the people of a session what its command waits for. */
  announce(sessionId: string, text: string): void
}

export interface ToolRuntime extends SessionResourcesDeps {
  readonly commandPolicy: CommandPolicy
  readonly tools: LoadedTools
}

/** Rejects with a system error when the home cannot be written. */
export async function openToolRuntime(deps: AgentServicesDeps, parts: ToolRuntimeParts): Promise<ToolRuntime> {
  const { home, log, environment } = deps
  const {
    agent,
    code_execution: scripts,
    custom_toolsets: customToolsets,
    delegation,
    memory,
    terminal,
  } = deps.settings()
  const { values } = environment()
  const isHere = terminal.backend === 'local' || terminal.backend === 'bwrap'
  const environments = isHere || terminal.backend === 'none' ? undefined : await openEnvironments(deps, parts)
  const openSandbox = terminal.backend === 'bwrap' ? requireSandbox(parts.sandbox) : parts.sandbox
  const sandboxOf = (workspace?: string) => openSandbox.bind(undefined, workspace)
  const userHome = values['HOME'] ?? home.root
  const commandPolicy = createCommandPolicy({ home: home.root, userHome, settings: deps.settings })
  const fileGuardOf = (sandbox: () => Promise<Sandbox | undefined>) =>
    createFileGuard({
      home: home.root,
      userHome,
      writeSafeRoot: values['HERMES_WRITE_SAFE_ROOT'] ?? '',
      sandbox,
    })
  const fileGuard = fileGuardOf(sandboxOf())
  const searchPath = values['PATH'] ?? ''
  const disabled = [
    ...agent.disabled_toolsets,
    ...(isHere || environments ? [] : environmentToolsets),
    ...toolsetsOff(memory),
  ]
  const registry = createToolRegistry({
    isDisabled: (tool) => selectDisabledTools(disabled, [tool], customToolsets).size > 0,
    log,
    services: {
      ...deps.toolServices,
      log,
      commandPolicy,
      fileGuard,
      searchPath,
      worksElsewhere: environments !== undefined,
      skills: deps.skills,
      browser: browserOf(deps, parts),
      media: () => openMedia(deps, parts),
      maxChildren: delegation.max_concurrent_children,
      mayNest: delegation.max_spawn_depth > 1,
      scripts: { timeoutMs: scripts.timeout * 1_000, maxCalls: scripts.max_tool_calls },
      terminal: {
        timeoutMs: terminal.timeout * 1_000,
        maxTimeoutMs: terminal.max_timeout * 1_000,
        maxOutputBytes: terminal.max_output_kb * 1_024,
      },
    },
  })
  const tools = await registry.load()
  for (const tool of deps.pluginTools()) await registerTool(registry, tool, log)
  for (const definition of (await deps.mcpTools?.()) ?? [])
    await registerTool(registry, { definition, override: false }, log)
  const binDir = await installCliShim(join(home.cache, 'bin'), deps.commandLine)
  return {
    tools,
    commandPolicy,
    createEnvironment(sessionId, workspace) {
      if (environments !== undefined) return environments.create(sessionId, workspace)
      const sandbox = sandboxOf(workspace)
      return createLocalEnvironment({
        ...(terminal.backend === 'bwrap' && { kind: 'bwrap' }),
        cwd: workspace ?? parts.cwd(),
        env: { ...withNamedVariables(environment(), terminal.env_passthrough), HERMES_HOME: home.root },
        binDir,
        passthrough: terminal.env_passthrough,
        blocked: deps.withheld,
        sandbox,
        openFiles: async (resolve) => {
          const { createLocalFiles } = await import('../../agent/environments/local-files.ts')
          const guard = workspace === undefined ? fileGuard : fileGuardOf(sandbox)
          return createLocalFiles({ fileGuard: guard, searchPath, sandbox }, resolve)
        },
      })
    },
    createProcessTable: () => createProcessTable({ now: Date.now }),
    readTodos: readTodoCall,
  }
}

const makerVariables = ['OPENAI_API_KEY', 'VOICE_TOOLS_OPENAI_KEY', 'FAL_KEY']

/** Most installations that make nothing are told apart without loading anything. */
async function openMedia(
  { home, settings, environment }: AgentServicesDeps,
  { media }: ToolRuntimeParts,
): Promise<MediaMaker | undefined> {
  const { tts, image_gen, api_key, base_url } = settings()
  const isNamed =
    tts.command.length > 0 ||
    [tts, image_gen].some(
      (settings) => settings.provider !== 'auto' || settings.base_url !== '' || settings.api_key !== '',
    )
  const { values } = environment()
  const mayHaveKey =
    (api_key !== '' && base_url === '') || makerVariables.some((name) => name in values) || existsSync(home.authFile)
  if (!isNamed && !mayHaveKey) return undefined
  const maker = await media()
  return {
    ...maker,
    makes: async (task) => (await maker.endpoint(task)).kind !== 'none',
    maxSpeechChars: () => settings().tts.max_chars,
  }
}

/** Undefined where no browser is installed or configured. */
function browserOf(
  { settings, environment }: AgentServicesDeps,
  { openBrowser }: ToolRuntimeParts,
): ToolServices['browser'] {
  const { browser } = settings()
  const isFound = findBrowser(browser, environment().values['PATH'] ?? '') !== undefined
  return isFound ? { isOptional: isBrowserOptional(browser), open: openBrowser } : undefined
}

/** A tool whose schema is invalid, or whose name is taken, is left out; the others stay. */
async function registerTool(
  registry: ToolRegistry,
  { definition, override }: Omit<PluginToolEntry, 'owner'>,
  log: Logger,
): Promise<void> {
  try {
    await registry.register(definition, { override })
  } catch (error) {
    log.error(
      { event: 'tool.registration_failed', tool: definition.name, err: error },
      'a tool of a plugin or of an MCP server is invalid',
    )
  }
}

/** Without an environment to work in there are none. Commands that are to run elsewhere must not run on this machine. */
const environmentToolsets = ['terminal', 'file', 'code_execution']

async function openEnvironments(
  deps: AgentServicesDeps,
  { announce }: ToolRuntimeParts,
): Promise<RemoteEnvironments | undefined> {
  const { openRemoteEnvironments } = await import('../environments/remote-environments.ts')
  const environments = await openRemoteEnvironments({ ...deps, announce })
  const { backend } = deps.settings().terminal
  if (environments === undefined)
    deps.log.error({ event: 'environment.unknown', backend }, 'the environment of terminal.backend is not offered')
  return environments
}

/** For `terminal.backend: bwrap`. Rejects with `environment/no-sandbox` instead of doing without. */
function requireSandbox(open: ToolRuntimeParts['sandbox']): ToolRuntimeParts['sandbox'] {
  return async (workspace) => {
    const sandbox = await open(workspace)
    if (sandbox?.kind === 'bwrap') return sandbox
    throw new HermesError('environment/no-sandbox', sandbox?.reason ?? '')
  }
}

function toolsetsOff(memory: AgentConfig['memory']): readonly string[] {
  return memory.memory_enabled || memory.user_profile_enabled ? [] : ['memory']
}
