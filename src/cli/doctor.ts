/**
 * `hermes doctor`: checks everything the gateway needs and prints the results with advice.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { createRedactor, type Redactor } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { type Check, type CheckContext, type CheckResult, problem, problemFromError } from './checks/check-result.ts'
import { checkConfig, checkPlatforms, checkRoles } from './checks/configuration.ts'
import { checkDaemon, checkDeadLetters, checkPort } from './checks/daemon.ts'
import { checkPlatformConnections } from './checks/diagnose-platforms.ts'
import { checkEnvironment } from './checks/environment.ts'
import { checkDatabase, checkHomeDirectory, checkLeftovers, checkPrivateFiles, checkToken } from './checks/home.ts'
import { checkHooks } from './checks/hooks.ts'
import { checkLocalServers } from './checks/local-servers.ts'
import { checkBrowser, checkDiskSpace, checkNode, checkPrograms, checkWorkingDirectory } from './checks/machine.ts'
import { checkMcpServers } from './checks/mcp.ts'
import { checkMedia } from './checks/media.ts'
import { checkMemory } from './checks/memory.ts'
import { checkModel } from './checks/model.ts'
import { checkPairing } from './checks/pairing.ts'
import { checkPassedVariables } from './checks/passed-variables.ts'
import { checkPlatformModels } from './checks/platform-models.ts'
import { checkPlugins } from './checks/plugins.ts'
import { checkPromptFiles } from './checks/prompt-files.ts'
import { checkSandbox } from './checks/sandbox.ts'
import type { CliContext } from './kit/context.ts'
import { type Daemon, findRunningDaemon } from './kit/daemon.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { confirmChange } from './kit/questions.ts'
import { readSettings } from './kit/settings.ts'

const checks: readonly Check[] = [
  checkNode,
  checkHomeDirectory,
  checkDiskSpace,
  checkPrivateFiles,
  checkLeftovers,
  checkDatabase,
  checkToken,
  checkConfig,
  checkModel,
  checkPlatformModels,
  checkLocalServers,
  checkMedia,
  checkPlatforms,
  checkRoles,
  checkPairing,
  checkPlatformConnections,
  checkHooks,
  checkPlugins,
  checkMemory,
  checkMcpServers,
  checkPort,
  checkDaemon,
  checkDeadLetters,
  checkPrograms,
  checkBrowser,
  checkEnvironment,
  checkPassedVariables,
  checkSandbox,
  checkWorkingDirectory,
  checkPromptFiles,
]

export interface DoctorOptions {
  readonly json: boolean
  /** Skips the checks that use the network. */
  readonly offline: boolean
  /** Fixes what can be fixed before the results are shown. */
  readonly fix: boolean
  /** Does not ask before that. */
  readonly yes: boolean
}

/** Exit code 1 when there is a problem. Throws `home/unusable` when the home cannot be read, `cli/usage` without a confirmation. */
export async function doctor(context: CliContext, { json, offline, fix, yes }: DoctorOptions): Promise<void> {
  // The checks run code of adapters, which may leave sockets open.
  context.exitsAfterCommand = true
  const first = await runChecks(context, offline)
  const isChanged = fix && (await applyFixes(context, first, yes))
  const results = isChanged ? await runChecks(context, offline) : first
  const problemCount = results.filter(({ state }) => state === 'problem').length
  if (problemCount > 0) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (json) {
    const findings = results.map((result) => ({ ...result, fix: result.fix?.what }))
    return display.json({ ok: problemCount === 0, findings })
  }
  for (const result of results) printResult(display, result)
  display.line()
  display.line(formatSummary(problemCount, results.filter(({ state }) => state === 'note').length))
  const fixable = results.filter((result) => result.fix !== undefined).length
  if (fixable > 0) display.line(`\`hermes doctor --fix\` can fix ${fixable} of them.`)
}

/** Says what it will do, and asks. Returns whether something was done. A fix that fails does not keep the others from their work. */
async function applyFixes(context: CliContext, results: readonly CheckResult[], yes: boolean): Promise<boolean> {
  const { errors } = context
  const fixes = results.flatMap(({ fix }) => fix ?? [])
  if (fixes.length === 0) {
    errors.write('There is nothing that doctor can fix.\n')
    return false
  }
  errors.write(`doctor will:\n${fixes.map(({ what }) => `  - ${toSingleLine(what)}\n`).join('')}`)
  if (!yes && !(await confirmChange(context, 'Do this?'))) return false
  for (const { what, apply } of fixes) {
    try {
      apply()
    } catch (error) {
      errors.write(`hermes: this failed: ${toSingleLine(what)}: ${toSingleLine(messageOf(error))}\n`)
    }
  }
  return true
}

async function runChecks(context: CliContext, offline: boolean): Promise<readonly CheckResult[]> {
  const settings = await readSettings(context)
  const redact = createRedactor({ secrets: settings.secrets.all })
  const lookup = await findDaemonOrFailure(context, settings.token)
  const checkContext: CheckContext = { context, settings, daemon: lookup.daemon, offline }
  const results: CheckResult[] = []
  for (const check of checks) {
    if (check === checkPlatformConnections && offline) continue
    if (check === checkDaemon && lookup.failure !== undefined) results.push(lookup.failure)
    else results.push(...(await runCheck(check, checkContext)))
  }
  return results.map((result) => redactResult(result, redact))
}

function redactResult(result: CheckResult, redact: Redactor): CheckResult {
  const { advice } = result
  return { ...result, text: redact(result.text), advice: advice && redact(advice) }
}

async function findDaemonOrFailure(
  context: CliContext,
  token: () => string,
): Promise<{ readonly daemon: Daemon | undefined; readonly failure?: CheckResult }> {
  try {
    return { daemon: await findRunningDaemon({ home: context.home, token }) }
  } catch (error) {
    if (!isHermesError(error)) throw error
    return { daemon: undefined, failure: problemFromError('Gateway', error) }
  }
}

async function runCheck(check: Check, checkContext: CheckContext): Promise<readonly CheckResult[]> {
  try {
    return await check(checkContext)
  } catch (error) {
    return [problem('Doctor', `a check failed: ${messageOf(error)}`, 'Report this line as a bug.')]
  }
}

const signs = { ok: ['✓', 'good'], note: ['!', 'warn'], problem: ['✗', 'bad'] } as const
const subjectWidth = 15

function printResult(display: Display, { state, subject, text, advice }: CheckResult): void {
  const [sign, tone] = signs[state]
  const name = display.isTerminal ? subject.padEnd(subjectWidth) : `${subject}:`
  display.line(`${display.tone(tone, sign)} ${name} ${toSingleLine(text)}`)
  if (advice === undefined) return
  const indent = display.isTerminal ? ' '.repeat(subjectWidth + 3) : '    '
  display.line(`${indent}${display.tone('dim', `→ ${toSingleLine(advice)}`)}`)
}

function formatSummary(problemCount: number, noteCount: number): string {
  const notes = noteCount === 0 ? '' : `, ${noteCount} ${noteCount === 1 ? 'note' : 'notes'} (!)`
  if (problemCount === 0) return `No problems${notes}.`
  return `${problemCount} ${problemCount === 1 ? 'problem' : 'problems'} (✗)${notes}.`
}
