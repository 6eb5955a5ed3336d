/**
 * The reporter of a shard: one JSON line for each test that ended, for each line that a test printed, and for each error after
 * the end of its test, on stdout. The
 * runner that started the shard reads them.
 */
import { inspect } from 'node:util'

/** @param {AsyncIterable<import('node:test/reporters').TestEvent>} source */
export default async function* report(source) {
  const path = []
  for await (const { type, data } of source) {
    switch (type) {
      case 'test:start':
        path.length = data.nesting
        path[data.nesting] = data.name
        break
      case 'test:pass':
      case 'test:fail':
        yield `${JSON.stringify(resultOf(type === 'test:pass', data, path))}\n`
        break
      case 'test:stdout':
      case 'test:stderr':
        yield `${JSON.stringify({ type: 'output', text: data.message })}\n`
        break
      case 'test:diagnostic':
        // An error after the end of its test. Node sets the exit code, and reports the error only here.
        if (data.nesting === 0 && data.message.startsWith('Error: '))
          yield `${JSON.stringify({ type: 'problem', text: data.message })}\n`
        break
      default:
    }
  }
}

/**
 * @param {boolean} passed
 * @param {import('node:test').EventData.TestPass | import('node:test').EventData.TestFail} data
 * @param {readonly string[]} path the names of the suites around it
 */
function resultOf(passed, data, path) {
  const { details, name, nesting, file, line, skip, todo } = data
  const isSuite = details.type === 'suite'
  return {
    type: 'result',
    passed,
    isSuite,
    skipped: skip !== undefined && skip !== false,
    todo: todo !== undefined && todo !== false,
    name: [...path.slice(0, nesting), name].join(' › '),
    file,
    line,
    nesting,
    ms: details.duration_ms,
    error: passed ? undefined : textOf(details.error),
    failedBelow: !passed && details.error?.failureType === 'subtestsFailed',
  }
}

/** The error that a test threw is the cause of the one that the runner of Node reports. */
function textOf(error) {
  const cause = error?.cause ?? error
  return inspect(cause, { depth: 6, breakLength: 120 })
}
