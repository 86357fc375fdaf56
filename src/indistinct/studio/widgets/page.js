async function studioUpload(file, done) {
  if (!file) return;
  try {
    const place = '/upload?name=' + encodeURIComponent(file.name);
    const answer = await fetch(place, {method: 'POST', body: file});
    done(answer.ok ? await answer.json() : {error: 'the upload failed with status ' + answer.status});
  } catch (error) { done({error: 'the upload failed: ' + error.message}); }
}
