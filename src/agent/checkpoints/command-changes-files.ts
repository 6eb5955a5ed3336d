/**
 * Guesses whether a shell command changes files, as Hermes Agent does: a checkpoint too many is harmless.
 */

const changingPrograms =
  /(?:^|[\s;&|`(])(?:\S*\/)?(?:rm|rmdir|mv|cp|install|ln|tee|truncate|dd|shred|unlink|rsync|patch|tar|unzip)(?=\s)/
const inPlace = /(?:^|[\s;&|`(])(?:sed|perl|ruby)\s(?:[^;&|]*\s)?-\w*i/
const changingGit =
  /(?:^|[\s;&|`(])git\s(?:[^;&|]*\s)?(?:reset|clean|checkout|restore|switch|stash|apply|am|merge|rebase|pull|revert|cherry-pick|rm|mv)(?=\s|$)/
const changingFind = /(?:^|[\s;&|`(])find\s[^;&|]*\s-(?:delete|exec|execdir)\b/
/** `> file`, `>| file`, `>> file`; neither `2>&1` nor `> /dev/null`. */
const redirection = /(?:^|[^<>=-])[0-9&]?>{1,2}\|?\s*(?![&>\s]|\/dev\/(?:null|std(?:out|err)))\S/

export function commandChangesFiles(command: string): boolean {
  return [changingPrograms, inPlace, changingGit, changingFind, redirection].some((pattern) => pattern.test(command))
}
