/**
 * Runs a Python script that calls tools, so that many calls and their results need no request of a model (contract S9).
 */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { z } from 'zod'
import { asString } from '../../lib/json.ts'
import { stripTerminalEscapes, toVisibleText } from '../../lib/visible-text.ts'
import type { ScriptLimits } from '../code/run-script.ts'
import { type CommandPolicy, decideForEnvironment } from '../command-policy/policy.ts'
import type { PolicyDecision } from '../command-policy/rule.ts'
import type { Environment } from '../environments/environment.ts'
import { countOf, lineOf, storedCharsOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import { type BeforeChange, defineToolCode } from './tool.ts'

const parameters = z.object({
  code: z.string().min(1),
  /** Hermes resets the interpreter that its scripts share. Here each script has its own. */
  reset: z.boolean().optional(),
})

/** Shorter than a derived one, because it is a part of every request. */
const jsonSchema = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] }

const outputLimits = { maxStdoutBytes: 50_000, maxStderrBytes: 10_000 }

export interface ScriptPort {
  readonly commandPolicy: CommandPolicy
  /** The PATH for helper programs such as `python3`. */
  readonly searchPath: string
  /** Commands do not run on this machine, so that nothing is known of the programs there. */
  readonly worksElsewhere?: boolean
  readonly scripts: Pick<ScriptLimits, 'timeoutMs' | 'maxCalls'>
  /** The tools that a script may call, with the names of their arguments. */
  readonly callable: Readonly<Record<string, readonly string[]>>
  /** Absent where no checkpoints are taken. */
  readonly beforeChange?: BeforeChange | undefined
}

export const createExecuteCodeTool = ({
  commandPolicy,
  searchPath,
  scripts,
  worksElsewhere,
  callable,
  beforeChange,
}: ScriptPort) => {
  /** What the sandbox contains needs no question. What the operator has denied never runs. */
  const judge = async (code: string, environment: Environment): Promise<PolicyDecision> => {
    const isSandboxed = (await environment.isSandboxed?.()) === true
    const mark = markFor(code)
    const command = `python3 - <<'${mark}'\n${code}\n${mark}`
    const judged = commandPolicy.evaluate(command, {
      cwd: environment.cwd,
      interactive: false,
      limitsHermes: isSandboxed,
    })
    return isSandboxed && judged.decision === 'needs-approval' && judged.rule === inlineCode
      ? { decision: 'allow' }
      : decideForEnvironment(judged, environment)
  }
  return defineToolCode({
    name: 'execute_code',
    description: 'Run Python; hermes_tools has your terminal, file and web tools as functions that return dicts.',
    parameters,
    jsonSchema,
    mode: 'effect',
    check: () => worksElsewhere === true || hasProgram('python3', searchPath),
    summarize: ({ status, output, error, tool_calls_made: calls }) => {
      const state = status === 'success' ? '' : asString(status)
      const made = typeof calls === 'number' && calls > 0 ? countOf('call', calls) : ''
      return [state, made, lineOf(asString(output) || asString(error)) || 'no output'].filter(Boolean).join(', ')
    },
    label: ({ code }) => code.trim().split('\n', 1)[0] ?? '',

    async approval({ code }, { environment }) {
      const judged = await judge(code, environment)
      if (judged.decision !== 'needs-approval') return undefined
      const reason = `This script ${judged.reason}.`
      const place = `${environment.cwd} (${environment.kind})`
      return { source: 'policy', ruleKey: judged.rule, reason, command: code, place, remember: 'call' }
    },

    async run({ code }, context) {
      const { environment, signal, loop, isApproved } = context
      if (loop === undefined) return toErrorJson({ code: 'unavailable', reason: 'No script can run here.' })
      const judged = await judge(code, environment)
      if (judged.decision === 'forbidden' || (judged.decision === 'needs-approval' && isApproved !== true))
        return toErrorJson({ code: 'command_refused', reason: `Refused: this script ${judged.reason}.` })
      await beforeChange?.({ tool: 'execute_code', paths: [environment.cwd], areDirectories: true }, context)
      const { runScript } = await import('../code/run-script.ts')
      const started = performance.now()
      const { status, stdout, stderr, toolCalls } = await runScript({
        ...{ code, environment, signal, tools: callable },
        limits: { ...scripts, ...outputLimits },
        cwd: environment.cwd,
        exposed: await context.conversation.attachments(),
        callTool: loop.callTool,
      })
      const value = {
        status,
        output: clean(stdout),
        ...(stderr === '' ? {} : { error: clean(stderr) }),
        tool_calls_made: toolCalls,
        duration_seconds: Math.round((performance.now() - started) / 100) / 10,
      }
      return toResultJson(value, storedCharsOf(context.limits), 'output')
    },
  })
}

/** The rule for program text that no one has stored in a file. */
const inlineCode = 'inline-code'

/** A line that the script does not contain. */
function markFor(code: string): string {
  let mark = 'SCRIPT'
  while (code.includes(mark)) mark += '_'
  return mark
}

function clean(text: string): string {
  return toVisibleText(stripTerminalEscapes(text), { keepsMarks: true })
}

function hasProgram(name: string, searchPath: string): boolean {
  return searchPath.split(delimiter).some((folder) => isExecutable(join(folder, name)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // It is not in this folder.
    return false
  }
}
