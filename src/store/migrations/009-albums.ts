/** `album` names the call that a file was sent with, so that a crash during the call leaves no doubt which files it had. */
export const albums = `
alter table outbox add column album text;
`
