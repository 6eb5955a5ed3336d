/**
 * The built-in tools: what is known of each before its code is loaded, and how it is loaded. To add a tool, add an entry here and a
 * file beside it that declares what it needs of the gateway: a part of `ToolServices`.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { FileGuard } from '../command-policy/file-guard.ts'
import type { SkillsPort } from '../skills/skills.ts'
import type { QuestionPort } from './clarify.ts'
import type { SchedulePort } from './cronjob.ts'
import type { DelegationLimits } from './delegate-task.ts'
import type { ScriptPort } from './execute-code.ts'
import type { MemoryPort } from './memory.ts'
import type { MessagesPort } from './send-message.ts'
import type { RecallPort } from './session-search.ts'
import type { BrowserPort } from './sets/browser.ts'
import type { MediaMaker } from './sets/media.ts'
import type { TerminalPort } from './support/terminal-port.ts'
import type { ToolCode, ToolDefinition, ToolFacts } from './tool.ts'
import type { WebPort } from './web-search.ts'

/** What the tools need of the gateway beyond the context of a call: each declares its part. Absent parts have no tool. */
export interface ToolServices
  extends TerminalPort,
    Omit<ScriptPort, 'callable'>,
    DelegationLimits,
    WebPort,
    BrowserPort,
    SkillsPort,
    MemoryPort,
    RecallPort,
    QuestionPort,
    SchedulePort,
    MessagesPort {
  /** For pictures that are looked at. */
  readonly fileGuard: FileGuard
  /** Resolves with undefined where nothing speaks or draws. */
  media?(): Promise<MediaMaker | undefined>
}

/** Tools whose code is in one file. */
interface BuiltInTools {
  readonly tools: readonly ToolFacts[]
  /** Some of them, or none, where what they need is not there. */
  load(services: ToolServices): Promise<readonly ToolCode[]>
}

const readsPath = { writes: false, path: ({ path }) => path } satisfies ToolFacts['runsInParallel']
const notForCode = ['coding', 'hermes-acp']
const withoutUser = ['hermes-acp', 'hermes-api-server']

/** Each file is loaded with the first turn. */
const files: readonly BuiltInTools[] = [
  {
    tools: [
      {
        name: 'terminal',
        toolset: 'terminal',
        machine: 'runs-commands',
        scriptArguments: ['command', 'timeout', 'workdir'],
      },
    ],
    load: async (services) => [(await import('./terminal.ts')).createTerminalTool(services)],
  },
  {
    tools: [{ name: 'process', toolset: 'terminal', machine: 'changes' }],
    load: async (services) => [(await import('./process.ts')).createProcessTool(services)],
  },
  {
    tools: [
      {
        name: 'execute_code',
        toolset: 'code_execution',
        // A script starts programs as a command does.
        requires: ['terminal'],
        machine: 'runs-commands',
        isWithheldFromSubagents: true,
      },
    ],
    load: async (services) => [
      (await import('./execute-code.ts')).createExecuteCodeTool({ ...services, callable: scriptTools() }),
    ],
  },
  {
    tools: [
      {
        name: 'read_file',
        toolset: 'file',
        runsInParallel: readsPath,
        scriptArguments: ['path', 'offset', 'limit'],
      },
    ],
    load: async () => [(await import('./read-file.ts')).readFileTool],
  },
  {
    tools: [
      {
        name: 'search_files',
        toolset: 'file',
        // A search without a path covers the working directory.
        runsInParallel: { writes: false, path: ({ path = '.' }) => path },
        scriptArguments: ['pattern', 'target', 'path', 'file_glob', 'limit', 'offset', 'output_mode', 'context'],
      },
    ],
    load: async () => [(await import('./search-files.ts')).searchFilesTool],
  },
  {
    tools: [
      {
        name: 'write_file',
        toolset: 'file',
        runsInParallel: { writes: true, path: ({ path }) => path },
        machine: 'changes',
        scriptArguments: ['path', 'content'],
      },
    ],
    load: async (services) => [(await import('./write-file.ts')).createWriteFileTool(services)],
  },
  {
    tools: [
      {
        name: 'patch',
        toolset: 'file',
        // A patch of several files names them in its text.
        runsInParallel: { writes: true, path: ({ path, patch }) => (patch === undefined ? path : undefined) },
        machine: 'changes',
        scriptArguments: ['path', 'old_string', 'new_string', 'replace_all', 'mode', 'patch'],
      },
    ],
    load: async (services) => [(await import('./patch.ts')).createPatchTool(services)],
  },
  {
    tools: [{ name: 'web_search', toolset: 'web', runsInParallel: true, scriptArguments: ['query', 'limit'] }],
    load: async (services) => [(await import('./web-search.ts')).createWebSearchTool(services)],
  },
  {
    tools: [{ name: 'web_extract', toolset: 'web', runsInParallel: true, scriptArguments: ['urls'] }],
    load: async (services) => [(await import('./web-extract.ts')).createWebExtractTool(services)],
  },
  {
    tools: [{ name: 'vision_analyze', toolset: 'vision', runsInParallel: true }],
    load: async (services) => [(await import('./vision-analyze.ts')).createVisionTool(services)],
  },
  {
    tools: browserTools('navigate', 'snapshot', 'click', 'type', 'scroll', 'back', 'press').concat(
      browserTools('get_images', 'vision', 'console', 'cdp'),
    ),
    load: async (services) =>
      services.browser === undefined ? [] : (await import('./sets/browser.ts')).createBrowserTools(services),
  },
  {
    tools: [
      {
        name: 'text_to_speech',
        toolset: 'tts',
        leftOutOf: [...notForCode, 'hermes-api-server'],
        uselessIn: { unattended: 'No user listens in this turn.' },
      },
      { name: 'image_generate', toolset: 'image_gen', leftOutOf: notForCode },
    ],
    async load(services) {
      const maker = await services.media?.()
      return maker === undefined ? [] : (await import('./sets/media.ts')).createMediaTools(maker, services)
    },
  },
  {
    tools: [{ name: 'skills_list', toolset: 'skills', runsInParallel: true }],
    load: async (services) => [(await import('./skills-list.ts')).createSkillsListTool(services)],
  },
  {
    tools: [{ name: 'skill_view', toolset: 'skills', runsInParallel: true }],
    load: async (services) => [(await import('./skill-view.ts')).createSkillViewTool(services)],
  },
  {
    tools: [{ name: 'skill_manage', toolset: 'skills' }],
    load: async (services) => [(await import('./skill-manage.ts')).createSkillManageTool(services)],
  },
  {
    tools: [{ name: 'todo', toolset: 'todo' }],
    load: async () => [(await import('./todo.ts')).todoTool],
  },
  {
    tools: [
      {
        name: 'memory',
        toolset: 'memory',
        uselessIn: { background: 'A background task has no memory.' },
        servesOthers: true,
        isWithheldFromSubagents: true,
      },
    ],
    load: async (services) => [(await import('./memory.ts')).createMemoryTool(services)],
  },
  {
    tools: [{ name: 'session_search', toolset: 'session_search', runsInParallel: true }],
    load: async (services) => [(await import('./session-search.ts')).createSessionSearchTool(services)],
  },
  {
    tools: [
      {
        name: 'clarify',
        toolset: 'clarify',
        leftOutOf: withoutUser,
        uselessIn: { unanswerable: 'No user can be asked in this turn.' },
        servesOthers: true,
        isWithheldFromSubagents: true,
      },
    ],
    load: async (services) => [(await import('./clarify.ts')).createClarifyTool(services)],
  },
  {
    // A sub-agent has it by its role.
    tools: [{ name: 'delegate_task', toolset: 'delegation', servesOthers: true }],
    load: async (services) => [(await import('./delegate-task.ts')).createDelegateTool(services)],
  },
  {
    tools: [
      {
        name: 'cronjob',
        toolset: 'cronjob',
        leftOutOf: notForCode,
        uselessIn: { scheduled: 'A scheduled turn cannot schedule jobs (cron.allow_agent_scheduling).' },
        isWithheldFromSubagents: true,
      },
    ],
    load: async (services) => [(await import('./cronjob.ts')).createCronTool(services)],
  },
  {
    tools: [{ name: 'send_message', toolset: 'messaging', leftOutOf: notForCode, isWithheldFromSubagents: true }],
    load: async (services) => [(await import('./send-message.ts')).createSendMessageTool(services)],
  },
]

/** Without `browser_navigate` the others have no page. */
function browserTools(...names: readonly string[]): readonly ToolFacts[] {
  return names.map((name) => ({
    name: `browser_${name}`,
    toolset: 'browser',
    requires: name === 'navigate' ? undefined : ['browser_navigate'],
  }))
}

/** By their names. */
export const builtInTools: ReadonlyMap<string, ToolFacts> = new Map(
  files.flatMap(({ tools }) => tools.map((facts) => [facts.name, facts] as const)),
)

/** The tools that a script may call, with the names of their arguments. */
function scriptTools(): Readonly<Record<string, readonly string[]>> {
  const callable = [...builtInTools.values()].flatMap(({ name, scriptArguments }) =>
    scriptArguments === undefined ? [] : [[name, scriptArguments] as const],
  )
  return Object.fromEntries(callable)
}

/** Joins what a built-in tool does with what is known of it. Throws for a tool that has no entry here. */
export function withFacts(code: ToolCode): ToolDefinition {
  const facts = builtInTools.get(code.name)
  if (facts === undefined) throw new Error(`the tool ${code.name} is not in the list of the built-in tools`)
  return { ...facts, ...code }
}

/** Logs and leaves out a file that cannot be loaded. */
export async function loadBuiltInTools(services: ToolServices, log: Logger): Promise<readonly ToolDefinition[]> {
  const loaded = files.map(async ({ tools, load }) => {
    try {
      return (await load(services)).map(withFacts)
    } catch (error) {
      const names = tools.map(({ name }) => name).join(', ')
      log.error({ event: 'tool.load_failed', tool: names, err: error }, `tool could not be loaded: ${messageOf(error)}`)
      return []
    }
  })
  return (await Promise.all(loaded)).flat()
}
