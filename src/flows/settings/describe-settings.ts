/**
 * What the form of the settings shows: each value with its origin, and which variables are set. Secrets are never part of it.
 */
import { catalogue } from '../../agent/models/catalogue.ts'
import { readConfigText } from '../../config/edit-config.ts'
import { type AnyConfig, listEffectiveValues, secretPlaceholder } from '../../config/effective-values.ts'
import { dottedPath } from '../../config/issue.ts'
import { isSecretName } from '../../config/secrets.ts'
import { overlaps } from '../../config/tree.ts'
import type { Redactor } from '../../lib/redact.ts'
import { revisionOf } from './edit-settings.ts'

/** Returns plain data, in the shape of `GET /api/settings`. Throws `config/unreadable`. */
export function describeSettings(config: AnyConfig, redact: Redactor) {
  const { home, restartPaths } = config.rules()
  const { problems, warnings, notes, degraded, pendingRestart } = config.state()
  const values = listEffectiveValues(config, redact).flatMap(({ path, shown, value, written, source, origin }) => {
    // The name of an entry is the choice of its owner.
    if (redact(path.join('\n')) !== path.join('\n')) return []
    const isSecret = shown === secretPlaceholder || value === undefined
    const current = source === 'variable' ? value : (written ?? value)
    return [
      {
        path: [...path],
        value: isSecret ? null : current,
        is_secret: isSecret,
        source,
        origin,
        needs_restart: restartPaths.some((restart) => overlaps(restart, dottedPath(path))),
      },
    ]
  })
  return {
    revision: revisionOf(readConfigText(home.configFile)),
    file: home.configFile,
    values,
    variables: listVariables(config),
    problems: problems.map(({ file, line, column, path, message }) => ({
      ...{ file, line, column, path },
      message: redact(message),
    })),
    notices: [...degraded, ...[...warnings, ...notes].map(({ path, message }) => `${path}: ${message}`)].map((text) =>
      redact(text),
    ),
    pending_restart: [...pendingRestart],
  }
}

/** The variables of `.env` and those of the environment that the gateway knows, by name only. */
function listVariables(config: AnyConfig) {
  const { environmentBindings } = config.rules()
  const { file, originOf } = config.environment()
  const keys = Object.values(catalogue).flatMap(({ keyVariables }) => keyVariables)
  const known = environmentBindings.map(({ variable }) => variable).filter(isSecretName)
  return [...new Set([...Object.keys(file), ...keys, ...known])].sort().map((name) => {
    const origin = originOf(name)
    return { name, is_set: origin !== undefined, origin: origin === undefined ? null : origin.file }
  })
}
