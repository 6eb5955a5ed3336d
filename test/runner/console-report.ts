/**
 * What a person sees of a test run: a counter while it runs, then the failures, then one closing line.
 */
import { relative } from 'node:path'
import { root } from './plan.ts'
import type { TestResult } from './shard.ts'

export interface ConsoleReport {
  add(result: TestResult): void
  /** What a test printed; it is shown at once. */
  print(text: string): void
  /** Prints the failures and the totals. `problems` are failures outside of tests. Returns whether anything failed. */
  finish(problems: readonly string[]): boolean
}

/** Between two lines of progress where the output is no terminal. */
const progressIntervalMs = 15_000

/** @param leftOutCount tests of these files that do not run */
export function createReport(out: NodeJS.WriteStream, fileCount: number, leftOutCount: number): ConsoleReport {
  const startedAt = performance.now()
  const counts = { passed: 0, failed: 0, skipped: 0, leftOut: 0 }
  const failures: TestResult[] = []
  let lastProgress = startedAt

  const summary = () => `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
  const clearLine = () => (out.isTTY ? out.write('\r\u001b[K') : undefined)
  const showProgress = () => {
    const now = performance.now()
    if (out.isTTY) out.write(`\r\u001b[K${summary()} · ${Math.round((now - startedAt) / 1_000)} s`)
    else if (now - lastProgress >= progressIntervalMs) {
      lastProgress = now
      out.write(`${Math.round((now - startedAt) / 1_000)} s: ${summary()}\n`)
    }
  }
  out.write(`Running ${fileCount} test files.\n`)

  return {
    add(result) {
      if (!result.passed && !result.failedBelow) {
        failures.push(result)
        clearLine()
        out.write(`✖ ${result.name}\n`)
      }
      if (!result.isSuite) {
        if (result.skipped || result.todo) counts.skipped += 1
        else if (result.passed) counts.passed += 1
        else if (!result.failedBelow) counts.failed += 1
      } else if (!result.passed && !result.failedBelow) counts.failed += 1
      showProgress()
    },
    print(text) {
      clearLine()
      out.write(text)
    },
    finish(problems) {
      clearLine()
      for (const { name, file, line, error } of failures) {
        const location = file === undefined ? '' : `${relative(root, file)}:${line}`
        out.write(`\n✖ ${name}\n  ${location}\n${(error ?? '').replace(/^/gm, '  ')}\n`)
      }
      for (const problem of problems) out.write(`\n✖ ${problem}\n`)
      counts.failed += problems.length
      const left =
        leftOutCount === 0 ? '' : `${leftOutCount} tests and the files *.full.test.ts are left to npm run test:all\n`
      out.write(`\n${left}${Math.round((performance.now() - startedAt) / 1_000)} s\n${summary()}\n`)
      return counts.failed > 0
    },
  }
}
