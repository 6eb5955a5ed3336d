/**
 * The first step of a new home: offers to take over a home of another program on this machine.
 */
import { existsSync } from 'node:fs'
import { createHomeLayout } from '../../lib/home.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import { foreignHome, homeBeside } from '../../store/sqlite/foreign-home.ts'
import type { CliContext } from '../kit/context.ts'
import { createDisplay } from '../kit/display.ts'
import { openQuestions } from '../kit/questions.ts'
import { findHome, importKinds } from './find-homes.ts'
import { importHome } from './import-home.ts'
import { countResults, printReport } from './report.ts'

const labels = { hermes: 'Hermes Agent', openclaw: 'OpenClaw' } as const

/**
 * Asks whether this home, which is one of Hermes Agent, is taken over into one beside it. Throws `store/foreign` after a no, because
 * a setup must not change the files of Hermes Agent, and what `importHome` throws.
 */
export async function offerTakeOver(context: CliContext): Promise<void> {
  const { home, input, output } = context
  const target = createHomeLayout(homeBeside(home.root))
  const questions = openQuestions(input, output)
  try {
    output.write(`${toSingleLine(`The home ${home.root} belongs to Hermes Agent. An import only reads it.`)}\n`)
    const question = toSingleLine(
      `Take its settings, people, memories and conversations over into ${target.root}? [y/N] `,
    )
    if (!/^y(?:es)?$/i.test(await questions.ask(question))) throw foreignHome(home.root)
    const report = await importHome({ ...context, home: target }, 'hermes', home.root, {
      dryRun: false,
      overwrite: false,
    })
    printReport(createDisplay(output, context.environment), report)
    output.write(`\nFrom now on use this home: ${toSingleLine(`HERMES_HOME=${target.root}`)}\n`)
  } finally {
    questions.close()
  }
}

/** `imported`: settings were taken over. Asks nothing in a home that has settings. Throws what `importHome` throws. */
export async function offerImport(context: CliContext): Promise<'imported' | 'nothing'> {
  const { home, input, output } = context
  if (existsSync(home.configFile) || existsSync(home.envFile)) return 'nothing'
  const homes = importKinds.flatMap((kind) => {
    const path = findHome(kind, context)
    return path === undefined ? [] : [{ kind, path }]
  })
  const questions = openQuestions(input, output)
  try {
    for (const { kind, path } of homes) {
      output.write(`${toSingleLine(`There is a home of ${labels[kind]} at ${path}. An import only reads it.`)}\n`)
      if (!/^y(?:es)?$/i.test(await questions.ask('Take over its settings, people and memories? [y/N] '))) continue
      const report = await importHome(context, kind, path, { dryRun: false, overwrite: false })
      printReport(createDisplay(output, context.environment), report)
      const { taken, changed } = countResults(report.entries)
      if (taken + changed > 0) return 'imported'
    }
    return 'nothing'
  } finally {
    questions.close()
  }
}
