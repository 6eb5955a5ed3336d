/**
 * Connects a chat for `hermes setup`: asks for what a platform needs, tries it, stores it, and waits for the first message to the
 * bot, so that the person who wrote it can be made the owner.
 */
import { encode } from 'uqr'
import { callRoute, type RouteAccess } from '../api/client.ts'
import { approvePairing, listPairing } from '../api/routes/pairing.ts'
import { offerPlatforms as listPlatforms } from '../api/routes/setup.ts'
import {
  describeForm,
  offerPlatforms,
  type PlatformForm,
  storePlatform,
  type TriedPlatform,
  tryPlatform,
} from '../flows/platform/connect-platform.ts'
import { HermesError } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { sleep } from '../lib/timers.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { Invitation } from '../platforms/adapter.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { startEmbeddedGateway } from './kit/embedded-gateway.ts'
import { confirm, openQuestions, type Questions } from './kit/questions.ts'
import { readSettings } from './kit/settings.ts'
import { printCheck } from './models/model-report.ts'

const pollMs = 1_000

interface Asking {
  readonly context: CliContext
  readonly display: Display
  readonly questions: Questions
}

/** Asks in a terminal until no further chat is wanted. Throws `cli/failed` when the input ends, `config/…`. */
export async function askForChats(context: CliContext): Promise<void> {
  const display = createDisplay(context.output, context.environment)
  const questions = openQuestions(context.input, context.output)
  try {
    for (;;) {
      const form = await choosePlatform({ context, display, questions })
      if (form === undefined) return
      const invitation = await askForValues({ context, display, questions }, form)
      if (invitation !== 'left') await waitForFirstMessage({ context, display, questions }, form, invitation)
    }
  } finally {
    questions.close()
  }
}

/**
 * Connects a chat with the values that stand in the variables of this process, for scripts. Exit code 1 when the platform refuses
 * them; nothing is stored then. Throws `http/bad-request` and `config/…`.
 */
export async function connectFromVariables(context: CliContext, platform: string, json: boolean): Promise<void> {
  const settings = await readSettings(context)
  const form = await describeForm(settings, platform)
  const values = Object.fromEntries(
    form.fields.flatMap(({ key, variable = '' }) => {
      const value = context.environment[variable] ?? ''
      return value === '' ? [] : [[key, value]]
    }),
  )
  const tried = await tryPlatform(settings, { platform, values }, undefined)
  const isUsable = tried.checks.every(({ state }) => state !== 'problem')
  if (isUsable) storePlatform(settings, context.home, { platform, values })
  else context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ platform, stored: isUsable, ...tried })
  printTried(display, form, tried)
  if (isUsable)
    display.line('Stored. A running gateway connects at once; `hermes pairing list` shows who writes to the bot.')
}

/** Undefined when none is wanted. */
async function choosePlatform({ context, display, questions }: Asking): Promise<PlatformForm | undefined> {
  const settings = await readSettings(context)
  const offers = offerPlatforms(settings)
  if (offers.length === 0) return undefined
  display.line('People can write to the agent where they write anyway.')
  for (const [index, { name, label, isSet }] of offers.entries())
    display.line(`${String(index + 1).padStart(3)}  ${name.padEnd(14)} ${label}${isSet ? ', connected' : ''}`)
  display.line()
  for (;;) {
    const answer = (await questions.ask('Chat to connect (number or name; empty: none): ')).toLowerCase()
    if (answer === '') return undefined
    const chosen = offers[Number(answer) - 1] ?? offers.find(({ name }) => name === answer)
    if (chosen !== undefined) return await describeForm(settings, chosen.name)
    display.line(`There is no platform ${toSingleLine(answer)}.`)
  }
}

/** Stores what was entered once the platform takes it. */
async function askForValues(
  { context, display, questions }: Asking,
  form: PlatformForm,
): Promise<Invitation | undefined | 'left'> {
  const { name: platform, label, steps, fields } = form
  for (const [index, { text, url }] of steps.entries())
    display.line(`${index + 1}. ${text}${url === undefined ? '' : `\n   ${url}`}`)
  for (;;) {
    const values: Record<string, string> = {}
    for (const { key, label: name, secret, isSet } of fields) {
      const empty = isSet ? 'keep it' : 'leave'
      const value = await questions.ask(`${name} (${secret ? 'not shown; ' : ''}empty: ${empty}): `, {
        isHidden: secret,
      })
      if (value === '' && !isSet) return 'left'
      if (value !== '') values[key] = value
    }
    const settings = await readSettings(context)
    display.line(`Asking ${label}.`)
    const tried = await tryPlatform(settings, { platform, values }, undefined)
    printTried(display, form, tried)
    if (tried.checks.every(({ state }) => state !== 'problem')) {
      storePlatform(settings, context.home, { platform, values })
      return tried.invitation
    }
    if (!(await confirm(questions, 'Try again?'))) return 'left'
  }
}

function printTried(display: Display, { label }: PlatformForm, { checks, invitation }: TriedPlatform): void {
  for (const { link, ...check } of checks) {
    printCheck(display, { subject: label, ...check })
    if (link !== undefined) display.line(`    ${link}`)
  }
  if (invitation !== undefined) display.line(`${toSingleLine(invitation.name)}: ${invitation.url}`)
}

/** Through the daemon, or a gateway of this process that also answers meanwhile. */
async function waitForFirstMessage(
  asking: Asking,
  form: PlatformForm,
  invitation: Invitation | undefined,
): Promise<void> {
  const { context, display } = asking
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  const embedded = daemon === undefined ? await startEmbeddedGateway(context, 'cli', [form.name]) : undefined
  const gateway = daemon ?? embedded
  if (gateway === undefined) return
  try {
    if (!(await isConnected(gateway, form, display))) return
    if (invitation !== undefined) {
      for (const line of drawCode(invitation.url)) display.line(line)
      display.line(toSingleLine(invitation.advice))
    }
    await decideAboutFirst(gateway, asking, form)
  } finally {
    await embedded?.drain()
  }
}

/** Whether people can write to it now. */
async function isConnected(gateway: RouteAccess, { name, label }: PlatformForm, display: Display): Promise<boolean> {
  for (;;) {
    const { platforms } = await callRoute(gateway, listPlatforms, {})
    const now = platforms.find((platform) => platform.name === name)
    if (now?.state === 'connected') return true
    // A daemon reads the files within two seconds.
    if (now === undefined || now.state === 'failed') {
      display.line(`${label} is not connected: ${toSingleLine(now?.reason ?? 'the gateway does not have it')}`)
      return false
    }
    await sleep(pollMs)
  }
}

async function decideAboutFirst(
  gateway: RouteAccess,
  { display, questions }: Asking,
  form: PlatformForm,
): Promise<void> {
  if (!form.asksForAccess) return
  const leaving = new AbortController()
  const question = 'Write to it now, and it is asked whether that is you (Enter: later): '
  const left = questions.ask(question, { signal: leaving.signal }).then(() => undefined)
  const request = await Promise.race([left, firstRequest(gateway, form.name, leaving.signal)])
  leaving.abort()
  await left.catch((error: unknown) => {
    if (error instanceof HermesError) throw error
  })
  if (request === undefined) return
  const { userId, userName, requestId } = request
  const person = toSingleLine(userName === '' ? userId : `${userName} (${userId})`)
  display.line()
  if (!(await confirm(questions, `${person} has written. Is this you, the owner?`))) {
    display.line('Nothing was decided: `hermes pairing list` shows the request.')
    return
  }
  const body = { platform: form.name, code: requestId, role: 'owner' } as const
  const approved = await callRoute(gateway, approvePairing, { body })
  if (approved.problem !== undefined) display.line(toSingleLine(approved.problem))
  else display.line(`${person} is an owner.`)
  await questions.ask('Write again: it answers now. Enter goes on: ')
}

async function firstRequest(gateway: RouteAccess, platform: string, signal: AbortSignal) {
  while (!signal.aborted) {
    const { pending } = await callRoute(gateway, listPairing, {})
    const request = pending.find((candidate) => candidate.platform === platform)
    if (request !== undefined) return request
    await sleep(pollMs, signal)
  }
  return undefined
}

/** Two rows of modules in a line of text, light on a dark terminal and dark on a light one alike, because both colours are set. */
function drawCode(text: string): string[] {
  const { data, size } = encode(text, { border: 2 })
  const isDark = (x: number, y: number) => data[y]?.[x] === true
  return Array.from({ length: Math.ceil(size / 2) }, (_, row) => {
    const cells = Array.from({ length: size }, (_cell, x) => {
      const [top, bottom] = [isDark(x, 2 * row), isDark(x, 2 * row + 1)]
      if (top) return bottom ? '█' : '▀'
      return bottom ? '▄' : ' '
    })
    return `\u001b[30;107m${cells.join('')}\u001b[0m`
  })
}
