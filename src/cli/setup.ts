/**
 * `hermes setup`: the first steps in a terminal. A model, chats, and a service. Every step can be left and repeated.
 */
import { HermesError, isHermesError } from '../lib/errors.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { isForeignDatabaseFile } from '../store/sqlite/foreign-home.ts'
import { askForChats, connectFromVariables } from './connect-chat.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { confirmChange } from './kit/questions.ts'
import { readSettings } from './kit/settings.ts'
import { modelShow } from './models/model-report.ts'
import { sandboxProposal } from './shared/sandbox-proposal.ts'
import { browserProposal, findUnusedBrowser } from './shared/unused-browser.ts'

const steps = ['model', 'chat', 'service'] as const

export interface SetupOptions extends JsonOption {
  /** Connects it without a question. */
  readonly platform?: string
}

/** Throws `cli/failed` when the input ends, `cli/usage`, `config/…`, `service/…`. */
export async function setup(context: CliContext, step: string | undefined, options: SetupOptions): Promise<void> {
  const { input, output } = context
  if (step !== undefined && !steps.some((name) => name === step))
    throw new HermesError('cli/usage', `There is no step ${JSON.stringify(step)}.`, {
      hint: `Steps: ${steps.join(', ')}.`,
    })
  if (options.platform !== undefined) return await connectFromVariables(context, options.platform, options.json)
  if (step === 'service') return await installService(context)
  if (input.isTTY !== true || output.isTTY !== true) {
    await modelShow(context, { json: false })
    output.write(
      '`hermes setup` asks questions in a terminal. Scripts use `hermes model set <provider>:<model>` and `hermes setup chat --platform <name>`.\n',
    )
    return
  }
  if (step === 'chat') return await askForChats(context)
  if (step === undefined) {
    const { offerImport, offerTakeOver } = await import('./import/offer.ts')
    if (isForeignDatabaseFile(context.home.databaseFile)) return await offerTakeOver(context)
    if ((await offerImport(context)) === 'imported') return
  }
  output.write('The agent needs a model. This asks for the provider, its key and the model.\n\n')
  const { chooseModel } = await import('./model-questions.ts')
  if (!(await chooseModel(context)) || step === 'model') return
  await printProposals(context)
  output.write('\n')
  await askForChats(context)
  await offerService(context)
  output.write('\nNext: `hermes chat` for a first question, `hermes gateway run` for the page and your chats.\n')
}

async function installService(context: CliContext): Promise<void> {
  const { serviceInstall } = await import('./service.ts')
  await serviceInstall(context, { print: false, start: true })
}

async function printProposals(context: CliContext): Promise<void> {
  const { output } = context
  const settings = await readSettings(context)
  const { config } = settings
  const searchPath = config.environment().values['PATH'] ?? ''
  const sandbox = sandboxProposal({ terminal: config.current().terminal, searchPath, platform: process.platform })
  if (sandbox !== '') output.write(`\n${sandbox}\n`)
  const browser = findUnusedBrowser(settings)
  if (browser !== undefined) output.write(`\nThe browser ${browser} is installed. ${browserProposal}\n`)
}

/** A machine without a usable service manager is no failure. */
async function offerService(context: CliContext): Promise<void> {
  if (!(await confirmChange({ ...context, errors: context.output }, 'Start Hermes with this machine, as a service?')))
    return
  try {
    await installService(context)
  } catch (error) {
    if (!isHermesError(error)) throw error
    context.output.write(`The service was not installed: ${toSingleLine(error.message)}\n`)
  }
}
