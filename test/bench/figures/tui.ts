/**
 * `hermes --tui`: from the start of the process to the first frame on a pseudo-terminal, compared with a bare node on one.
 */
import { findTerminalProblem, runHermesInTerminal, runInTerminal } from '../../kit/pseudo-terminal.ts'
import type { Figure, Row } from '../figure.ts'
import { withHome } from '../kit/home.ts'
import { median } from '../kit/stats.ts'

export const tui: Figure = {
  name: 'tui',
  about: 'first frame of the terminal interface',
  measure: (options) => withHome('http: { port: 0 }\n', (home) => measured(home, options.full ? 15 : 7)),
}

async function measured(home: string, rounds: number): Promise<Row[]> {
  const name = 'first frame of hermes --tui'
  const problem = findTerminalProblem()
  if (problem !== undefined) return [{ name, unit: 's', note: problem }]
  const environment = { HOME: home, HERMES_HOME: home }
  const ours: number[] = []
  const bare: number[] = []
  // The first run fills the compile cache.
  for (let round = -1; round < rounds; round++) {
    const running = runHermesInTerminal({ args: ['--tui'], environment })
    const frame = await running.timeOf('New conversation')
    running.kill('SIGKILL')
    await running.exited
    const begun = performance.now()
    await runInTerminal({ args: ['-e', '0'], environment }).exited
    if (round < 0) continue
    ours.push(frame)
    bare.push(performance.now() - begun)
  }
  const seconds = (all: readonly number[]) => median(all) / 1_000
  return [
    {
      name,
      measured: seconds(ours),
      unit: 's',
      bar: 0.25,
      baseline: { what: 'node -e 0 to its end', value: seconds(bare) },
      note: `median of ${rounds}; no daemon runs`,
    },
  ]
}
