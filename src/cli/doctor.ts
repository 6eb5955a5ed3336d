/**
 * `hermes doctor`: looks at everything the gateway needs, says it in plain words, and what to do.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { createRedactor, type Redactor } from '../lib/redact.ts'
import { checkConfig, checkModel, checkPlatforms } from './checks/configuration.ts'
import { checkAttention, checkDaemon, checkPort } from './checks/daemon.ts'
import { type Check, type Finding, type Patient, problem } from './checks/finding.ts'
import { checkDatabase, checkHomeFolder, checkToken } from './checks/home.ts'
import { checkHooks } from './checks/hooks.ts'
import { checkLive } from './checks/live.ts'
import { checkNode, checkPrograms, checkSpace, checkWorkingFolder } from './checks/machine.ts'
import { checkPlugins } from './checks/plugins.ts'
import type { CliContext } from './context.ts'
import { type Daemon, findRunningDaemon } from './daemon.ts'
import { createDisplay, type Display, oneLine } from './display.ts'
import { exitCodes } from './failure.ts'
import { readSettings } from './settings.ts'

const checks: readonly Check[] = [
  checkNode,
  checkHomeFolder,
  checkSpace,
  checkDatabase,
  checkToken,
  checkConfig,
  checkModel,
  checkPlatforms,
  checkLive,
  checkHooks,
  checkPlugins,
  checkPort,
  checkDaemon,
  checkAttention,
  checkPrograms,
  checkWorkingFolder,
]

export interface DoctorOptions {
  readonly json: boolean
  /** Nothing is asked over the network. */
  readonly offline: boolean
}

/** Exit code 1 when something is wrong. Throws `home/unusable` when there is nothing to look at. */
export async function doctor(context: CliContext, { json, offline }: DoctorOptions): Promise<void> {
  // Adapters are looked at with their own code: sockets that one of them keeps must not keep this process.
  context.endsWithCommand = true
  const settings = await readSettings(context)
  const redact = createRedactor({ secrets: settings.secrets.all })
  const search = await findDaemonOrReason(context, settings.token)
  const patient: Patient = { context, settings, daemon: search.daemon }
  const findings: Finding[] = []
  for (const check of checks) {
    if (check === checkLive && offline) continue
    if (check === checkDaemon && search.finding !== undefined) findings.push(search.finding)
    else findings.push(...(await run(check, patient)))
  }
  const clean = findings.map((finding) => withoutSecrets(finding, redact))
  const wrong = clean.filter(({ state }) => state === 'problem').length
  if (wrong > 0) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ ok: wrong === 0, findings: clean })
  for (const finding of clean) show(display, finding)
  display.line()
  display.line(summary(wrong, clean.filter(({ state }) => state === 'note').length))
}

function withoutSecrets(finding: Finding, redact: Redactor): Finding {
  const { advice } = finding
  return { ...finding, text: redact(finding.text), ...(advice === undefined ? {} : { advice: redact(advice) }) }
}

async function findDaemonOrReason(
  context: CliContext,
  token: () => string,
): Promise<{ readonly daemon: Daemon | undefined; readonly finding?: Finding }> {
  try {
    return { daemon: await findRunningDaemon({ home: context.home, token, fetch }) }
  } catch (error) {
    if (!isHermesError(error)) throw error
    return { daemon: undefined, finding: problem('Gateway', error.message, error.hint) }
  }
}

async function run(check: Check, patient: Patient): Promise<readonly Finding[]> {
  try {
    return await check(patient)
  } catch (error) {
    return [problem('Doctor', `a check failed: ${messageOf(error)}`, 'Please report it with this line.')]
  }
}

const signs = { ok: ['✓', 'good'], note: ['!', 'warn'], problem: ['✗', 'bad'] } as const
const subjectWidth = 15

function show(display: Display, { state, subject, text, advice }: Finding): void {
  const [sign, tone] = signs[state]
  const name = display.terminal ? subject.padEnd(subjectWidth) : `${subject}:`
  display.line(`${display.tone(tone, sign)} ${name} ${oneLine(text)}`)
  if (advice === undefined) return
  const indent = display.terminal ? ' '.repeat(subjectWidth + 3) : '    '
  display.line(`${indent}${display.tone('dim', `→ ${oneLine(advice)}`)}`)
}

function summary(wrong: number, notes: number): string {
  const worth = notes === 0 ? '' : `${notes === 1 ? '1 thing is' : `${notes} things are`} worth knowing (!)`
  if (wrong === 0) return worth === '' ? 'All is well.' : `Nothing is wrong; ${worth}.`
  const problems = `${wrong === 1 ? '1 thing is' : `${wrong} things are`} wrong (✗)`
  return worth === '' ? `${problems}.` : `${problems}, ${worth}.`
}
